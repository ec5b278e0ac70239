"""Commands on a whole store, and what they all do about stores that are not there, pipes that close, and Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock import App, PenstockError, Tenant
from penstock.store.sqlite.connection.statements import migrations
from tests.cli.conftest import Call, Shell, run_all

ON_A_STORE = [
    ["counts"], ["jobs", "list"], ["dead", "list"], ["enqueue", "greet", "{}"],
    ["jobs", "show", "01980000-0000-7000-8000-000000000000"], ["dead", "purge", "--all", "--yes"],
]  # fmt: skip
STORE = ("--store", "sqlite:///jobs.db")


def test_counts_by_tenant_and_of_one(call: Call, app: App) -> None:
    app.enqueue("greet", {}, tenant=Tenant("acme", "eu"), tags=["red"])
    app.enqueue("greet", {}, tenant=Tenant("acme", "us"), delay="1h")
    app.enqueue("greet", {})
    counted = call("counts", "--by", "tenant", "--json").json
    assert {name: (states["pending"], states["scheduled"]) for name, states in counted["counts"].items()} == {
        "acme": (1, 1),
        "-": (1, 0),
    }
    for option in (["--tenant", "acme/eu"], ["--tag", "red"], ["--tenant", "acme", "--tag", "red", "--type", "greet"]):
        assert call("counts", *option, "--json").json["total"] == 1, option
    assert call("counts", "--by", "queue", "--tenant", "acme", "--json").json["counts"]["default"]["scheduled"] == 1
    assert "acme" in call("counts", "--by", "tenant").out
    assert "write acme, or acme/eu" in call("counts", "--tenant", "/").err


def test_counts_by_capability(call: Call, app: App) -> None:
    for capability in ("gpu", "gpu", "general"):
        app.enqueue("greet", {}, capability=capability)
    counted = call("counts", "--by", "capability", "--json").json
    assert {name: states["pending"] for name, states in counted["counts"].items()} == {"general": 1, "gpu": 2}
    assert "gpu" in call("counts", "--by", "capability").out


def test_counts_by_state_type_and_queue(call: Call, app: App) -> None:
    app.enqueue("greet", {"name": "x"})
    app.enqueue("boom", {})
    run_all(app)
    app.enqueue("greet", {}, delay="1h")
    counted = call("counts", "--json").json
    assert (counted["total"], counted["counts"]["completed"], counted["counts"]["dead"]) == (3, 1, 1)
    assert (counted["counts"]["scheduled"], counted["counts"]["running"]) == (1, 0)
    by_type = call("counts", "--by", "type", "--json").json["counts"]
    assert (by_type["greet"]["completed"], by_type["boom"]["dead"]) == (1, 1)
    assert call("counts", "--by", "queue", "--json").json["counts"]["risky"]["dead"] == 1
    shown = call("counts", "--by", "type").out
    assert shown.splitlines()[0].split() == ["type", "scheduled", "completed", "dead"]
    assert f"3 jobs in {app.store.info.address}" in shown
    assert "completed" in call("counts").out
    assert call("counts", "--by", "colour").code == 2


def test_migrate_makes_a_store_and_says_what_it_did(call: Call, tmp_path: Path) -> None:
    dry = call("migrate", "--dry-run", "--json").json
    assert (dry["before"], dry["current"], dry["applied"]) == (0, 0, [])
    assert dry["pending"]
    assert "CREATE TABLE penstock_job" in dry["sql"]
    assert list(tmp_path.iterdir()) == []
    done = call("migrate", "--json").json
    assert (done["before"], done["current"], done["pending"]) == (0, done["latest"], [])
    assert done["applied"] == dry["pending"]
    assert done["store"] == str(tmp_path / "jobs.db")
    again = call("migrate")
    assert again.code == 0
    assert "nothing to do" in again.out
    assert call("migrate", "--dry-run").out.endswith("nothing to do\n")


def test_the_status_says_what_is_pending_and_tells_it_with_its_code(call: Call, tmp_path: Path) -> None:
    missing = call("migrate", "--status")
    assert (missing.code, missing.err) == (1, "")
    assert f"version  0, the latest is {migrations()[-1][0]}\npending  0001_initial\n" in missing.out
    assert list(tmp_path.iterdir()) == []
    assert call("migrate").code == 0
    there = call("migrate", "--status")
    assert (there.code, there.out.splitlines()[-1]) == (0, "up to date")
    document = call("migrate", "--status", "--json")
    assert (document.code, document.json["current"], document.json["pending"]) == (0, document.json["latest"], [])


def test_a_dry_run_prints_sql_that_makes_the_store(call: Call, tmp_path: Path) -> None:
    import apsw

    printed = call("migrate", "--dry-run").out
    db = apsw.Connection(str(tmp_path / "jobs.db"))
    db.execute(printed)
    db.close()
    assert call("migrate", "--status").code == 0
    nothing = call("migrate", "--dry-run")
    assert (nothing.code, [line for line in nothing.out.splitlines() if not line.startswith("--")]) == (0, [])


def test_grants_are_for_servers_only(call: Call) -> None:
    outcome = call("migrate", "--grants", "worker")
    assert (outcome.code, outcome.out) == (2, "")
    assert "SQLite has no roles" in outcome.err
    assert call("migrate", "--grants", "worker", "--status").code == 2


def test_grants_need_no_server(call: Call) -> None:
    url = "postgresql://owner:secret@nowhere.invalid/jobs?schema=shop"
    printed = call("migrate", "--grants", "shop_worker", "--store", url)
    assert printed.code == 0
    assert 'GRANT USAGE ON SCHEMA "shop" TO "shop_worker";\n' in printed.out
    document = call("migrate", "--grants", "shop_worker", "--store", url, "--json").json
    assert (document["sql"], document["role"]) == (printed.out, "shop_worker")
    assert document["store"] == "postgresql://owner@nowhere.invalid/jobs?schema=shop"
    assert call("migrate", "--grants", "public", "--store", url).code == 2


def test_migrate_into_a_folder_that_is_not_there_fails_in_one_line(call: Call, tmp_path: Path) -> None:
    outcome = call("migrate", "--store", f"sqlite:///{tmp_path}/nowhere/jobs.db")
    assert outcome.code == 1
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1


@pytest.mark.parametrize("command", [*ON_A_STORE, ["migrate"]], ids=" ".join)
def test_without_a_store_both_ways_to_name_one_are_given(
    call: Call, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.delenv("PENSTOCK_STORE")
    outcome = call(*command)
    assert outcome.code == 2
    assert "--store" in outcome.err
    assert "PENSTOCK_STORE" in outcome.err


@pytest.mark.parametrize("command", ON_A_STORE, ids=" ".join)
def test_a_missing_store_is_an_error_and_is_not_made(call: Call, tmp_path: Path, command: list[str]) -> None:
    outcome = call(*command)
    assert (outcome.code, outcome.out) == (1, "")
    assert str(tmp_path / "jobs.db") in outcome.err
    assert "penstock migrate" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_database_of_something_else_is_left_as_it_is(call: Call, tmp_path: Path) -> None:
    import apsw

    db = apsw.Connection(str(tmp_path / "jobs.db"))
    db.execute("CREATE TABLE theirs (x)")
    outcome = call("counts")
    assert outcome.code == 1
    assert "there is no store" in outcome.err
    assert db.execute("SELECT count(*) FROM sqlite_schema").get == 1
    db.close()


@pytest.mark.parametrize("url", ["jobs.db", "redis://localhost", "sqlite://jobs.db", "sqlite:///"])
def test_an_address_that_is_not_understood_is_a_usage_error(call: Call, url: str) -> None:
    outcome = call("counts", "--store", url)
    assert outcome.code == 2
    assert "sqlite:///jobs.db" in outcome.err


@pytest.mark.parametrize(
    "command", [["--help"], ["--version"], ["jobs", "list"], ["jobs", "list", "--json"], ["counts"], ["dead", "list"]],
    ids=" ".join,
)  # fmt: skip
def test_a_closed_pipe_is_not_an_error(shell: Shell, app: App, command: list[str]) -> None:
    for number in range(30):
        app.enqueue("greet", {"name": "x" * 5000}, tags=[f"t{number}"])
    store = [] if command[0].startswith("--") else STORE
    outcome = shell.run_unread(*command, *store)
    assert (outcome.code, outcome.err) == (0, "")


def test_the_first_line_can_be_taken_with_head(shell: Shell, app: App) -> None:
    for _ in range(50):
        app.enqueue("greet", {})
    line = f"set -o pipefail; {sys.executable} -m penstock jobs list --limit 50 --store sqlite:///jobs.db | head -1"
    ended = subprocess.run(
        ["bash", "-c", line], cwd=shell.folder, env=shell.env, capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split()[0] == "id"


def test_ctrl_c_is_quiet_in_every_command(call: Call, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock import engines

    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engines, "open_store", interrupted)
    for command in ON_A_STORE:
        outcome = call(*command)
        assert (outcome.code, outcome.out, outcome.err) == (130, "", ""), command


def test_an_interrupted_enqueue_says_which_job_may_have_been_stored(
    call: Call, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.client.client import Client

    def interrupted(*args: object) -> None:
        interrupt = KeyboardInterrupt()
        interrupt.add_note("it may have been stored: some-id")
        raise interrupt

    monkeypatch.setattr(Client, "enqueue", interrupted)
    outcome = call("enqueue", "greet", "{}")
    assert (outcome.code, outcome.err) == (130, "it may have been stored: some-id\n")


def test_an_error_is_one_line_also_when_its_message_is_not(
    call: Call, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock import engines

    def failing(*args: object, **kwargs: object) -> None:
        raise PenstockError("first\nsecond")

    monkeypatch.setattr(engines, "open_store", failing)
    outcome = call("counts")
    assert (outcome.code, outcome.err) == (1, "error: first second\n")


def test_errors_are_red_on_a_terminal_only(shell: Shell) -> None:
    assert "\x1b[31merror: " in shell.run_on_terminal("counts").out
    assert "\x1b" not in shell.run("counts").err
    shell.env["NO_COLOR"] = "1"
    assert "\x1b[31m" not in shell.run_on_terminal("counts").out


def test_a_terminal_without_unicode_gets_escapes_instead_of_an_error(shell: Shell, app: App) -> None:
    app.enqueue("boom", {"what": "größer " * 40})
    run_all(app)
    outcome = shell.run("dead", "list", *STORE, env={"PYTHONIOENCODING": "ascii"})
    assert outcome.code == 0
    assert "gr\\xf6\\xdfer" in outcome.out
