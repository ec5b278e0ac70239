"""`penstock workers`, and the identity of a worker (R8, R9)."""

from __future__ import annotations

import os
import re
import signal
import socket
from collections.abc import Callable
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import apsw
import pytest

from penstock import App, Resources
from penstock.store.contract import ClaimJobs, HeartbeatWorker, MarkWorkers, RegisterWorker
from penstock.store.sqlite.store import SqliteStore
from penstock.worker.settings import make_settings
from tests.cli.conftest import Call, Shell

Register = Callable[..., int]


@pytest.fixture
def register(app: App) -> Register:
    def register(worker_id: str = "w", **fields: Any) -> int:
        known = {"host": "host1", "pid": 7, "version": "1.2", "slots": 5, "stale_after": 60.0}
        return app.store.register_worker(RegisterWorker(worker_id=worker_id, **{**known, **fields})).wait().session

    return register


def end(app: App, session: int) -> None:
    app.store.heartbeat_worker(HeartbeatWorker(session, "inactive")).wait()


def silence(tmp_path: Path, worker_id: str, seconds: float, status: str = "active") -> None:
    """Make it look as if the worker was heard of so long ago."""
    db = apsw.Connection(str(tmp_path / "jobs.db"))
    db.execute(
        "UPDATE penstock_worker SET heartbeat_at = heartbeat_at - ?, started_at = started_at - ?, status = ? "
        "WHERE id = ?", (int(seconds * 1e6), int(seconds * 1e6), status, worker_id),
    )  # fmt: skip
    db.close()


def rows(out: str) -> list[dict[str, str]]:
    head, *lines, _ = out.splitlines()
    starts = [match.start() for match in re.finditer(r"(?:(?<=  )|^)\S", head)]
    cut = list(zip(starts, [*starts[1:], None], strict=True))
    names = [head[start:stop].strip() for start, stop in cut]
    return [{name: line[start:stop].strip() for name, (start, stop) in zip(names, cut, strict=True)} for line in lines]


def test_a_worker_is_shown_with_what_it_takes(call: Call, register: Register, app: App) -> None:
    register("limited", types=("a", "b", "c", "d"), queues=("mail",), capabilities=("general", "ml"),
             resources=Resources(cpu=2, memory="8Gi"))  # fmt: skip
    register("open")
    opened, limited = rows(call("workers").out)
    assert limited == {
        "id": "limited", "status": "active", "host": "host1", "pid": "7", "slots": "5", "running": "0",
        "types": "a, b, c +1", "queues": "mail", "capabilities": "general, ml", "resources": "cpu=0/2 memory=0/8Gi",
        "heard of": "0s ago", "started": "0s ago", "version": "1.2",
    }  # fmt: skip
    assert (opened["types"], opened["queues"], opened["resources"]) == ("all", "all", "-")


def test_resources_in_use_are_shown_of_those_that_there_are(call: Call, register: Register, app: App) -> None:
    has = Resources(cpu=8, memory="16Gi")
    session = register("media", resources=has)

    @app.job(resources=Resources(cpu=1.5, memory="4Gi"))
    def film() -> None: ...

    app.enqueue_many(film.bind() for _ in range(2))
    assert len(app.store.claim_jobs(ClaimJobs(session, 5, resources=has)).wait().jobs) == 2
    (shown,) = rows(call("workers").out)
    assert (shown["running"], shown["resources"]) == ("2", "cpu=3/8 memory=8Gi/16Gi")
    (worker,) = call("workers", "--json").json["workers"]
    assert worker["used"] == {"cpu": 3.0, "memory": 8 * 2**30, "gpu": 0.0}


def test_only_those_that_matter_now_are_shown(call: Call, register: Register, app: App, tmp_path: Path) -> None:
    for worker_id in ("alive", "quiet", "lost", "forgotten"):
        register(worker_id)
    end(app, register("ended"))
    silence(tmp_path, "quiet", 90)
    silence(tmp_path, "lost", 600, "lost")
    silence(tmp_path, "forgotten", 7200, "lost")
    outcome = call("workers")
    shown = {row["id"]: (row["status"], row["heard of"]) for row in rows(outcome.out)}
    assert shown == {"alive": ("active", "0s ago"), "quiet": ("stale", "1m ago"), "lost": ("lost", "10m ago")}
    assert "2 that ended before: --all" in outcome.out
    assert {row["id"] for row in rows(call("workers", "--all").out)} == {*shown, "forgotten", "ended"}


def test_json(call: Call, register: Register, app: App, tmp_path: Path) -> None:
    register(types=("a",), resources=Resources(gpu=1))
    document = call("workers", "--json").json
    (worker,) = document["workers"]
    assert document["store"] == str(tmp_path / "jobs.db")
    assert (worker["id"], worker["status"], worker["stale"], worker["jobs"]) == ("w", "active", False, 0)
    assert (worker["types"], worker["queues"], worker["capabilities"]) == (["a"], None, ["general"])
    assert worker["resources"] == {"cpu": 0.0, "memory": 0, "gpu": 1.0}
    assert datetime.fromisoformat(worker["heartbeat_at"]).tzinfo is not None
    assert 0 <= worker["silent"] < 60


def test_one_that_does_not_answer_probes_is_shown_as_failing(call: Call, register: Register, app: App) -> None:
    session = register("sick", health="http://10.0.0.1:80/ready")
    app.store.mark_workers(MarkWorkers([session])).wait()
    (shown,) = rows(call("workers").out)
    assert (shown["id"], shown["status"]) == ("sick", "failing")
    (worker,) = call("workers", "--json").json["workers"]
    assert (worker["status"], worker["failing"], worker["health"]) == ("inactive", True, "http://10.0.0.1:80/ready")
    end(app, session)
    assert "no worker runs" in call("workers").out


def test_without_workers_it_says_how_to_start_one(call: Call, app: App) -> None:
    outcome = call("workers")
    assert outcome.code == 0
    assert "start one: penstock worker MODULE:APP" in outcome.out
    assert call("workers", "--json").json["workers"] == []


def test_a_missing_store_is_a_failure_with_its_fix(call: Call) -> None:
    outcome = call("workers")
    assert (outcome.code, "penstock migrate" in outcome.err) == (1, True)


def test_a_narrow_terminal_never_cuts_an_id(shell: Shell, register: Register) -> None:
    names = ["a-host-with-a-long-name.example.org-12345-deadbeef", "short"]
    for name in names:
        register(name, types=("a_long_type_name", "another_long_type_name"))
    shown = shell.run_on_terminal("workers", "--store", "sqlite:///jobs.db").out
    assert names[0] in shown
    assert "heard of" in shown
    assert "version" not in shown


# Identity


def test_a_worker_registers_what_it_takes_and_its_names(shell: Shell, project: Path) -> None:
    worker = shell.start("worker", "tasks:app", "--types", "greet", "--queues", "mail,default", "--concurrency", "3")
    worker.wait_for("started")
    (found,) = shell.run("workers", "--json", "--store", "sqlite:///jobs.db").json["workers"]
    assert re.fullmatch(rf".+-{worker.process.pid}-[0-9a-f]{{8}}", found["id"])
    assert (found["host"], found["pid"], found["slots"]) == (socket.gethostname(), worker.process.pid, 3)
    assert found["version"] == version("penstock")
    assert (found["types"], found["queues"], found["capabilities"]) == (["greet"], ["mail", "default"], ["general"])
    worker.signal(signal.SIGTERM)
    assert worker.end().code == 0
    (found,) = shell.run("workers", "--all", "--json", "--store", "sqlite:///jobs.db").json["workers"]
    assert found["status"] == "inactive"


def test_types_that_are_declared_and_not_taken_are_still_known_by_name(shell: Shell, project: Path) -> None:
    assert shell.run("worker", "tasks:app", "--types", "greet", "--burst").code == 0
    store = SqliteStore(str(project / "jobs.db"))
    try:
        assert set(store.read_types().wait()) == {"greet", "boom", "wait_for_file"}
    finally:
        store.close()


def test_a_second_live_worker_with_the_same_id_is_refused(shell: Shell, project: Path) -> None:
    first = shell.start("worker", "tasks:app", "--id", "mine")
    first.wait_for("started")
    second = shell.run("worker", "tasks:app", "--id", "mine")
    assert second.code == 1
    assert "a worker with the id 'mine' is active in this store" in second.err
    assert "--id" in second.err
    first.signal(signal.SIGTERM)
    assert first.end().code == 0
    assert shell.run("worker", "tasks:app", "--id", "mine", "--burst").code == 0


@pytest.mark.parametrize("host", ["", "böx", "a b\n\x1b[31m", "x" * 300, "10.0.0.7", "wörker/1"])
def test_whatever_the_host_is_called_the_id_is_a_name(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    made = make_settings().worker_id
    assert re.fullmatch(rf"[^\s/\x1b]{{1,100}}-{os.getpid()}-[0-9a-f]{{8}}", made)


# Orders


def test_a_worker_is_drained_and_shown_so(call: Call, register: Register) -> None:
    register("web-1")
    outcome = call("workers", "drain", "web-1")
    assert (outcome.code, "web-1 claims no more" in outcome.out) == (0, True)
    assert rows(call("workers").out)[0]["status"] == "draining"
    assert call("workers", "drain", "web-1").out == "web-1 is draining already; nothing was changed\n"
    assert call("workers", "drain", "web-1", "--json").json == {"worker": "web-1", "changed": False}


def test_a_worker_is_resized_and_shown_so(call: Call, register: Register) -> None:
    register("web-1")
    assert call("workers", "resize", "web-1", "20").out == "web-1 has 20 slots now, it had 5\n"
    assert rows(call("workers").out)[0]["slots"] == "20"
    assert call("workers", "resize", "web-1", "1", "--json").json == {"worker": "web-1", "slots": 1, "before": 20}


@pytest.mark.parametrize("words", [["drain", "wbe"], ["resize", "wbe", "3"]])
def test_an_unknown_worker_is_an_error_that_names_those_alive(
    call: Call, register: Register, app: App, words: list[str]
) -> None:
    register("web-2")
    end(app, register("web-1"))
    outcome = call("workers", *words)
    assert outcome.code == 1
    assert "no worker has the id 'wbe' in this store; alive are: web-2" in outcome.err
    assert "the worker 'web-1' has ended" in call("workers", "drain", "web-1").err


@pytest.mark.parametrize("slots", ["0", "10001", "many"])
def test_slots_that_no_worker_can_have_are_usage_errors(call: Call, register: Register, slots: str) -> None:
    register("web-1")
    assert call("workers", "resize", "web-1", slots).code == 2
    assert rows(call("workers").out)[0]["slots"] == "5"


def test_a_running_worker_heeds_what_it_is_told(shell: Shell, project: Path) -> None:
    store = ("--store", "sqlite:///jobs.db")
    worker = shell.start("worker", "tasks:app", "--id", "mine", "--concurrency", "3")
    worker.wait_for("started")
    assert shell.run("workers", "resize", "mine", "7", *store).code == 0
    worker.wait_for("resized from 3 to 7 slots")
    assert shell.run("workers", "drain", "mine", *store).code == 0
    ended = worker.end()
    assert (ended.code, "told to drain" in ended.out + ended.err) == (0, True)
