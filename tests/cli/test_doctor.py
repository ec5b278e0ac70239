"""`penstock doctor` from outside: what it prints, how it ends, and that it changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from penstock import App
from penstock.store import disk
from penstock.store.contract import CancelJob, RegisterWorker
from tests.cli.conftest import Call, Outcome, Shell

DISK = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"


@pytest.fixture(autouse=True)
def on_a_local_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the tests run."""
    monkeypatch.setattr(disk, "read_mounts", lambda: DISK)


def findings(outcome: Outcome) -> dict[str, dict[str, Any]]:
    """By name; the worst of a name."""
    order = ["ok", "warning", "error"]
    found = sorted(outcome.json["findings"], key=lambda finding: order.index(finding["level"]))
    return {finding["name"]: finding for finding in found}


def register(app: App, **fields: Any) -> None:
    """A worker that is alive for the next minute."""
    known = {"worker_id": "w", "host": "h", "pid": 1, "version": "1", "slots": 5, "stale_after": 60.0}
    app.store.register_worker(RegisterWorker(**{**known, **fields})).wait()


def test_a_sound_store_with_a_worker(call: Call, app: App) -> None:
    register(app)
    outcome = call("doctor")
    assert outcome.code == 0
    assert "✓ ok" in outcome.out
    assert "✗" not in outcome.out
    assert "1 live worker, 5 slots" in outcome.out
    assert str(Path("jobs.db").absolute()) in outcome.out


def test_a_warning_comes_with_its_fix_and_fails_only_when_strict(call: Call, app: App) -> None:
    outcome = call("doctor")
    assert outcome.code == 0
    assert "! warning" in outcome.out
    assert "fix: start one: penstock worker MODULE:APP" in outcome.out
    assert call("doctor", "--strict").code == 1


def test_json_is_one_document(call: Call, app: App, tmp_path: Path) -> None:
    document = call("doctor", "--json", "--deep").json
    assert (document["worst"], document["store"]) == ("warning", str(tmp_path / "jobs.db"))
    assert {tuple(finding) for finding in document["findings"]} == {("name", "level", "message", "fix")}
    assert "every page checked" in {finding["message"] for finding in document["findings"]}


def test_a_missing_store_is_a_finding_and_is_not_made(call: Call, tmp_path: Path) -> None:
    outcome = call("doctor")
    assert (outcome.code, outcome.err) == (1, "")
    assert "✗ error" in outcome.out
    assert f"or: penstock migrate --store sqlite:///{tmp_path}/jobs.db" in outcome.out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [b"no database at all" * 500, b"SQLite format 3\x00" + b"\xff" * 5000])
def test_a_file_that_is_no_store_is_a_finding(call: Call, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "jobs.db").write_bytes(content)
    outcome = call("doctor", "--json")
    assert outcome.code == 1
    assert findings(outcome)["store"]["level"] == "error"
    assert (tmp_path / "jobs.db").read_bytes() == content


def test_a_store_of_a_newer_version_is_a_finding(call: Call, app: App, tmp_path: Path) -> None:
    app.close()
    db = apsw.Connection(str(tmp_path / "jobs.db"))
    db.execute("UPDATE penstock_meta SET value = 999")
    db.close()
    outcome = call("doctor", "--json")
    assert (outcome.code, findings(outcome)["store"]["fix"]) == (1, "upgrade penstock")


@pytest.mark.parametrize("damage", ["DELETE FROM penstock_meta", "UPDATE penstock_meta SET value = 0"])
def test_a_store_that_does_not_say_its_version_is_a_finding(call: Call, app: App, tmp_path: Path, damage: str) -> None:
    app.store.migrate()
    app.close()
    db = apsw.Connection(str(tmp_path / "jobs.db"))
    before = db.execute("SELECT * FROM penstock_meta").fetchall()
    db.execute(damage)
    outcome = call("doctor", "--json")
    found = findings(outcome)["store"]
    assert (outcome.code, "does not say of which version" in found["message"]) == (1, True)
    said, _, statement = found["fix"].partition("put the version back: ")
    assert ("upgrade" in said, "restore a backup" in said) == (False, True)
    assert "does not say of which version" in call("migrate").err
    db.execute(statement)
    assert db.execute("SELECT * FROM penstock_meta").fetchall() == before
    db.close()
    assert findings(call("doctor", "--json"))["schema"]["level"] == "ok"


@pytest.mark.parametrize("deep", [(), ("--deep",)])
def test_what_cannot_be_read_is_a_finding_whatever_it_is(
    call: Call, app: App, tmp_path: Path, deep: tuple[str, ...]
) -> None:
    app.enqueue("greet", {})
    app.close()
    db = apsw.Connection(str(tmp_path / "jobs.db"))
    db.execute("INSERT INTO penstock_job_type VALUES ('greet', CAST(x'ff' AS TEXT), 1)")
    db.close()
    outcome = call("doctor", "--json", *deep)
    assert (outcome.code, findings(outcome)["store"]["level"]) == (1, "error")
    assert "cannot be read" in findings(outcome)["store"]["message"]


def test_an_outcome_in_an_unknown_state_hides_no_other_job(call: Call, app: App, tmp_path: Path) -> None:
    bad, good = app.enqueue("greet", {}), app.enqueue("greet", {})
    for one in (bad, good):
        app.store.cancel_job(CancelJob(one.id)).wait()
    app.close()
    db = apsw.Connection(str(tmp_path / "jobs.db"))
    db.execute(
        "UPDATE penstock_outcome SET state = 99 WHERE seq = (SELECT seq FROM penstock_job WHERE id = ?)", (bad.id,)
    )
    db.close()
    listed = call("jobs", "list", "--json")
    assert (listed.code, good.id in listed.out, bad.id in listed.out) == (0, True, False)
    assert call("counts").code == 0
    for command in ("show", "cancel"):
        outcome = call("jobs", command, bad.id)
        assert (outcome.code, bad.id in outcome.err, "penstock doctor --deep" in outcome.err) == (1, True, True)


def test_an_older_store_is_left_as_it_is(call: Call, app: App, tmp_path: Path) -> None:
    app.close()
    db = apsw.Connection(str(tmp_path / "jobs.db"))
    db.execute("UPDATE penstock_meta SET value = 1")
    outcome = call("doctor", "--json")
    assert (outcome.code, findings(outcome)["schema"]["level"]) == (0, "warning")
    assert "workers" not in findings(outcome)
    assert db.execute("SELECT value FROM penstock_meta WHERE key = 'schema_version'").get == 1
    db.close()


def test_jobs_that_nobody_can_run(call: Call, app: App) -> None:
    register(app, types=("greet",))
    app.enqueue("greet", {})
    app.enqueue("gret", {})
    found = findings(call("doctor", "--json"))["waiting jobs"]
    assert (found["level"], "nearest is 'greet'" in found["message"]) == ("warning", True)


def test_with_an_app_its_store_and_its_libraries_are_looked_at(shell: Shell, project: Path) -> None:
    module = project / "tasks.py"
    module.write_text("import sqlite3\n" + module.read_text())
    assert shell.run("migrate", "--store", "sqlite:///jobs.db").code == 0
    found = findings(shell.run("doctor", "tasks:app", "--json"))
    assert "greet" in found["app"]["message"]
    assert found["sqlite copies"]["level"] == "warning"
    assert "sqlite3" in found["sqlite copies"]["message"]
    assert "app.transaction()" in found["sqlite copies"]["fix"]
    alone = findings(shell.run("doctor", "--store", "sqlite:///jobs.db", "--json"))
    assert alone["sqlite copies"]["level"] == "ok"


@pytest.mark.parametrize("store", [(), ("--store", "sqlite:///jobs.db")])
def test_an_app_that_cannot_be_imported_is_a_finding(shell: Shell, project: Path, store: tuple[str, ...]) -> None:
    (project / "broken.py").write_text("1 / 0\n")
    outcome = shell.run("doctor", "broken:app", "--json", *store)
    assert outcome.code == 1
    found = findings(outcome)
    assert (found["app"]["level"], "ZeroDivisionError" in found["app"]["message"]) == ("error", True)
    assert ("store" in found) is bool(store)


@pytest.mark.parametrize(
    "args", [["--store", "mysql://x"], ["tasks.py"], [""], ["nowhere:app"], ["--nope"]], ids=" ".join
)
def test_wrong_use_ends_with_two(call: Call, args: list[str]) -> None:
    outcome = call("doctor", *args)
    assert outcome.code == 2
    assert "rror:" in outcome.err


def test_without_any_store_it_says_how_to_name_one(shell: Shell) -> None:
    outcome = shell.run("doctor")
    assert outcome.code == 2
    assert "--store" in outcome.err


def test_on_a_terminal_long_messages_stay_in_their_column(shell: Shell, project: Path) -> None:
    shown = shell.run_on_terminal("doctor", "--store", "sqlite:///jobs.db").out
    lines = [line.rstrip() for line in shown.split("\r\n")]
    assert all(line[:1] in ("\x1b", " ", "", "1") for line in lines), shown
