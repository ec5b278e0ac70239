"""The health of real worker processes over HTTP: several under one supervisor, a stuck one, one without its store."""

from __future__ import annotations

import json
import os
import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import App
from tests.e2e.processes import Processes, until
from tests.e2e.supervised import Supervised
from tests.postgres.private import free_port
from tests.postgres.server import Server

HANDLERS = """
@app.job(attempts=1)
async def blocks(gate: str) -> None:
    say("blocked")
    while not os.path.exists(gate):
        time.sleep(0.01)

@app.job
async def nothing() -> None: ...
"""
PATIENCE_SECONDS = 30.0


def get(url: str) -> tuple[int, dict[str, Any]]:
    """Status and document; 0 if nobody is there."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE_SECONDS) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())
    except urllib.error.URLError:
        return 0, {}


def base_of(app: App) -> str:
    """Where the only worker answers."""
    (worker,) = app.store.list_workers().wait()
    assert worker.health is not None
    return worker.health.partition("/ready")[0]


@pytest.fixture
def ports() -> int:
    """The first of several ports that are free."""
    for _ in range(100):
        port = free_port()
        if all(get(f"http://127.0.0.1:{port + more}/live")[0] == 0 for more in (1, 2)):
            return port
    raise AssertionError("no free ports")


def test_processes_of_one_command_answer_on_one_port_after_the_other(
    supervised: Supervised, app: App, ports: int
) -> None:
    supervisor = supervised.start(HANDLERS, "--processes", "2", "--health", f"127.0.0.1:{ports}")
    supervisor.wait_for("started: 50 slots", 2)
    answers = [get(f"http://127.0.0.1:{ports + more}/ready") for more in (0, 1)]
    assert [status for status, _ in answers] == [200, 200]
    assert {said["worker"] for _, said in answers} == {worker.id for worker in app.store.list_workers().wait()}
    supervisor.stop()


def test_a_process_that_was_killed_is_back_on_its_port(supervised: Supervised, ports: int) -> None:
    supervisor = supervised.start(HANDLERS, "--processes", "2", "--health", f"127.0.0.1:{ports}")
    supervisor.wait_for("started: 50 slots", 2)
    url = f"http://127.0.0.1:{ports + 1}/ready"
    before = get(url)[1]["worker"]
    pid = int(before.split("-")[-2])
    os.kill(pid, signal.SIGKILL)
    supervisor.wait_for("started: 50 slots", 3)
    until(lambda: get(url)[0] == 200, "the new process answers")
    assert get(url)[1]["worker"] != before
    supervisor.stop()


def test_a_port_that_is_taken_is_one_error_that_names_the_fix(
    supervised: Supervised, processes: Processes, app: App
) -> None:
    processes.worker(HANDLERS)
    taken = base_of(app).removeprefix("http://")
    second = supervised.start(HANDLERS, "--health", taken)
    assert second.wait() == 2
    assert "another program listens on this port" in second.output
    assert "--health HOST:PORT" in second.output
    assert "Traceback" not in second.output


def test_a_stuck_worker_is_noticed_from_outside_within_seconds(processes: Processes, app: App, gate: str) -> None:
    worker = processes.worker(HANDLERS, heartbeat_interval=1.5)  # Stale after 4.5 s, before the loop is late.
    base = base_of(app)
    assert get(f"{base}/ready")[0] == 200
    app.enqueue("blocks", {"gate": gate})
    worker.wait_for("blocked")
    until(lambda: get(f"{base}/ready")[0] == 503, "the blocked loop is noticed")
    assert "its event loop has been blocked" in get(f"{base}/ready")[1]["reason"]
    assert get(f"{base}/live")[0] == 200
    status, said = get(f"{base}/health")
    assert (status, said["details"]["active_workers"]) == (200, 1), "the heartbeat goes on"
    open(gate, "w").close()
    until(lambda: get(f"{base}/ready")[0] == 200, "it is ready again")
    worker.stop()


def test_slow_clients_do_not_hold_the_process(processes: Processes, app: App) -> None:
    worker = processes.worker(HANDLERS)
    host, port = base_of(app).removeprefix("http://").split(":")
    clients = [socket.create_connection((host, int(port))) for _ in range(20)]
    try:
        worker.stop()
    finally:
        for client in clients:
            client.close()


class TestWithoutItsServer:
    """A worker whose database server is stopped in its tracks, and goes on."""

    @pytest.fixture
    def server(self) -> Iterator[Server]:
        with Server(18) as server:
            yield server

    @pytest.fixture
    def address(self, server: Server) -> str:
        return server.url(timeout="500ms")

    def test_it_lives_and_is_not_ready_until_the_store_is_back(
        self, server: Server, processes: Processes, app: App
    ) -> None:
        worker = processes.worker(HANDLERS, heartbeat_interval=0.2)
        base = base_of(app)
        until(lambda: get(f"{base}/health")[1].get("status") == "healthy", "all is well")
        with server.suspended():
            until(lambda: get(f"{base}/ready")[0] == 503, "the store is missed")
            assert get(f"{base}/live")[0] == 200
            status, said = get(f"{base}/health")
            assert (status, said["status"], said["checks"][0]["status"]) == (503, "unhealthy", "unhealthy")
            assert {check["status"] for check in said["checks"][1:]} == {"unknown"}
        until(lambda: get(f"{base}/ready")[0] == 200, "it is ready again")
        until(lambda: get(f"{base}/health")[0] == 200, "all is well again")
        worker.stop()
