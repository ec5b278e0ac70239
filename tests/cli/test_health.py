"""`penstock health` from outside: what it prints, how it ends, and that it changes nothing."""

from __future__ import annotations

import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from penstock import App
from penstock.store.contract import RegisterWorker
from penstock.store.postgres.connection import link
from tests.cli.conftest import Call, Outcome, Shell
from tests.postgres.private import HOST
from tests.postgres.server import shared

SECRET = "hunter2"


def register(app: App, worker_id: str = "w") -> None:
    """A worker that is alive for the next minute."""
    known: dict[str, Any] = {"host": "h", "pid": 1, "version": "1", "slots": 5, "stale_after": 60.0}
    app.store.register_worker(RegisterWorker(worker_id=worker_id, **known)).wait()


def statuses(outcome: Outcome) -> dict[str, str]:
    return {check["name"]: check["status"] for check in outcome.json["checks"]}


@contextmanager
def silent_server() -> Iterator[int]:
    """A port where connections are taken and nobody ever answers."""
    with closing(socket.create_server((HOST, 0))) as listening:
        yield listening.getsockname()[1]


def test_all_is_well(call: Call, app: App, tmp_path: Path) -> None:
    register(app)
    outcome = call("health")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[-1] == f"healthy: {tmp_path}/jobs.db"
    assert outcome.out.count("✓ healthy") == 4
    assert "synchronous=FULL" in outcome.out
    assert "fix:" not in outcome.out


def test_without_a_worker_it_is_unhealthy_and_says_what_to_do(call: Call, app: App, tmp_path: Path) -> None:
    outcome = call("health")
    assert (outcome.code, outcome.err) == (1, "")
    assert "✗ unhealthy" in outcome.out
    assert "fix: start one: penstock worker MODULE:APP" in outcome.out
    assert outcome.out.splitlines()[-1] == f"unhealthy: {tmp_path}/jobs.db"


def test_degraded_ends_with_zero(call: Call, app: App, dead: Callable[[int], list[str]]) -> None:
    dead(1)
    register(app)
    outcome = call("health")
    assert outcome.code == 0
    assert "! degraded" in outcome.out
    assert "penstock dead list" in outcome.out


def test_json_is_one_document(call: Call, app: App, dead: Callable[[int], list[str]], tmp_path: Path) -> None:
    dead(2)
    register(app)
    app.enqueue("greet", {}, queue="post")
    outcome = call("health", "--json")
    document = outcome.json
    assert outcome.code == 0
    assert list(document) == ["status", "checks", "details", "store"]
    assert (document["status"], document["store"]) == ("degraded", str(tmp_path / "jobs.db"))
    assert {tuple(check) for check in document["checks"]} == {("name", "status", "message", "fix")}
    details = document["details"]
    assert (details["active_workers"], details["dead_letters"], details["total_queues"]) == (1, 2, 2)
    assert [(queue["queue"], queue["waiting"], queue["more"]) for queue in details["queues"]] == [("post", 1, False)]
    assert (details["oldest_waiting"]["type"], details["oldest_waiting"]["queue"]) == ("greet", "post")


def test_the_limits_of_the_config(
    call: Call, app: App, dead: Callable[[int], list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead(2)
    register(app)
    (tmp_path / "penstock.toml").write_text("[health]\nmin_workers = 2\ndead_letter_threshold = 2\n")
    assert statuses(call("health", "--json")) == {
        "store": "healthy", "workers": "degraded", "queues": "healthy", "dead letters": "unhealthy",
    }  # fmt: skip
    monkeypatch.setenv("PENSTOCK_HEALTH_DEAD_LETTER_THRESHOLD", "3")
    (tmp_path / "other.toml").write_text("[health]\nmin_workers = 1\n")
    outcome = call("health", "--json", "--config", "other.toml")
    assert (outcome.code, statuses(outcome)["dead letters"], statuses(outcome)["workers"]) == (0, "degraded", "healthy")


def test_a_queue_where_a_job_has_waited_for_an_hour(call: Call, app: App, tmp_path: Path) -> None:
    register(app)
    app.enqueue("greet", {})
    app.close()
    db = apsw.Connection(str(tmp_path / "jobs.db"))
    db.execute("UPDATE penstock_job SET due_at = due_at - 3700 * 1000000")
    db.execute("UPDATE penstock_ready SET due_at = due_at - 3700 * 1000000")
    db.close()
    outcome = call("health", "--json")
    assert (outcome.code, statuses(outcome)["queues"]) == (1, "unhealthy")


# A store that does not answer


def test_a_missing_store_is_unhealthy_and_is_not_made(call: Call, tmp_path: Path) -> None:
    outcome = call("health", "--json")
    assert (outcome.code, outcome.err, outcome.json["status"]) == (1, "", "unhealthy")
    store, *rest = outcome.json["checks"]
    assert "there is no store at" in store["message"]
    assert "penstock migrate --store sqlite:///jobs.db" in store["fix"]
    assert [check["status"] for check in rest] == ["unknown"] * 3
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["CREATE TABLE mine (x)", None], ids=["a database of others", "no database"])
def test_a_file_that_is_no_store_is_unhealthy_and_is_left_alone(
    call: Call, tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "jobs.db"
    if content is None:
        path.write_bytes(b"no database at all" * 500)
    else:
        with closing(apsw.Connection(str(path))) as db:
            db.execute(content)
    before = path.read_bytes()
    outcome = call("health")
    assert (outcome.code, outcome.err) == (1, "")
    assert "✗ unhealthy" in outcome.out
    assert outcome.out.count("? unknown") == 3
    assert path.read_bytes() == before


def test_a_server_that_is_down(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "PATIENCE_SECONDS", 0.0)
    outcome = call("health", "--json", "--store", f"postgresql://postgres:{SECRET}@{HOST}:1/jobs")
    assert (outcome.code, outcome.err, outcome.json["checks"][0]["status"]) == (1, "", "unhealthy")
    assert "running" in str(outcome.json["checks"][0])
    assert SECRET not in outcome.out


def test_a_server_that_is_silent_is_waited_for_no_longer_than_asked(shell: Shell) -> None:
    with silent_server() as port:
        outcome = shell.run("health", "--timeout", "200ms", "--store", f"postgresql://p:{SECRET}@{HOST}:{port}/jobs")
    assert (outcome.code, outcome.err) == (1, "")
    assert "it did not answer within 200ms" in outcome.out
    assert SECRET not in outcome.out


def test_on_a_server(call: Call) -> None:
    server = shared(18)
    schema = f"health_{uuid.uuid4().hex[:12]}"
    url = server.url(schema=schema)
    try:
        with closing(App(url)) as app:
            app.store.migrate()
            register(app)
            outcome = call("health", "--store", url)
        assert (outcome.code, outcome.out.count("✓ healthy")) == (0, 4)
        assert f"schema={schema}" in outcome.out.splitlines()[-1]
    finally:
        server.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


# Wrong use


@pytest.mark.parametrize(
    "args",
    [["--store", "mysql://x"], ["--timeout", "soon"], ["--timeout", "0"], ["--timeout", "-1s"], ["--nope"], ["extra"],
     ["--config", "gone.toml"]],
    ids=" ".join,
)  # fmt: skip
def test_wrong_use_ends_with_two(call: Call, args: list[str]) -> None:
    outcome = call("health", *args)
    assert (outcome.code, outcome.out) == (2, "")
    assert "rror:" in outcome.err


def test_without_any_store_it_says_how_to_name_one(shell: Shell) -> None:
    outcome = shell.run("health")
    assert outcome.code == 2
    assert "--store" in outcome.err


def test_on_a_terminal_long_messages_stay_in_their_column(shell: Shell, project: Path) -> None:
    assert shell.run("migrate", "--store", "sqlite:///jobs.db").code == 0
    shown = shell.run_on_terminal("health", "--store", "sqlite:///jobs.db").out
    lines = [line.rstrip() for line in shown.split("\r\n")]
    assert all(line[:1] in ("\x1b", " ", "", "u") for line in lines), shown
