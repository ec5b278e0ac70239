"""Process handlers of `penstock worker`: real children of a real worker, which do not outlive it."""

from __future__ import annotations

import json
import os
import signal
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import App, State
from tests.e2e.processes import Process, until
from tests.e2e.supervised import Supervised, alive

pytestmark = pytest.mark.turns

BUSY = """
    import subprocess

    @app.job(runner="process", attempts=2)
    def busy() -> None:
        started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
        say("busy", os.getpid(), started.pid)
        while True:
            pass
"""


@pytest.fixture
def strays() -> Iterator[list[int]]:
    """Processes that a test must not leave behind, should it fail."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def started_by(worker: Process) -> list[int]:
    """The children of the worker, and what they have started."""
    return [pid for child in children_of(worker.pid) for pid in (child, *children_of(child))]


def children_of(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for thread in threads for child in (thread / "children").read_text().split()]


@pytest.mark.parametrize("held", [False, True], ids=["", "its socket is held by a process that it forked"])
def test_children_do_not_outlive_a_killed_worker(
    supervised: Supervised, app: App, strays: list[int], held: bool
) -> None:
    fork = """
    @app.job
    def fork() -> None:
        forked = os.fork()
        if forked == 0:
            time.sleep(300)
        say("forked", forked)
    """
    worker = supervised.start(BUSY + fork, "--process-slots=2")
    worker.wait_for("started:")
    job = app.enqueue("busy")
    worker.wait_for("busy ")
    until(lambda: len(started_by(worker)) == 3, "a busy child, what it started, and an idle child")
    children = started_by(worker)
    strays += children
    if held:
        app.enqueue("fork")
        strays.append(int(worker.wait_for("forked ").split()[1]))
    worker.send(signal.SIGKILL)
    until(lambda: not any(map(alive, children)), "all of them are gone")
    assert job.state() in (State.RUNNING, State.CLAIMED)


def test_a_second_signal_ends_a_busy_worker_and_gives_the_job_back(
    supervised: Supervised, app: App, strays: list[int]
) -> None:
    worker = supervised.start(BUSY, "--process-slots=1")
    worker.wait_for("started:")
    job = app.enqueue("busy")
    worker.wait_for("busy ")
    strays += started_by(worker)
    worker.send(signal.SIGTERM)
    worker.wait_for("stopping: ")
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert not any(map(alive, strays))
    assert (job.state(), job.read().attempt) == (State.PENDING, 0)


def test_a_ctrl_c_in_the_terminal_lets_a_child_finish(supervised: Supervised, app: App, gate: str) -> None:
    worker = supervised.start(
        """
        @app.job(runner="process", attempts=1)
        def patient(gate: str) -> str:
            say("patient waits")
            while not os.path.exists(gate):
                time.sleep(0.005)
            return "finished"
        """,
        "--process-slots=1",
    )
    worker.wait_for("started:")
    job = app.enqueue("patient", {"gate": gate})
    worker.wait_for("patient waits")
    assert os.getpgid(children_of(worker.pid)[0]) != os.getpgid(worker.pid), "the terminal does not reach it"
    worker.send(signal.SIGINT)
    worker.wait_for("stopping: ")
    Path(gate).touch()
    assert worker.wait() == 0
    assert job.result(0) == "finished"


def test_logs_of_a_child_look_like_those_of_the_worker(supervised: Supervised, app: App) -> None:
    worker = supervised.start(
        """
        import logging

        @app.job(runner="process", attempts=1)
        def chatty(ctx: Context) -> int:
            logging.getLogger("mine").info("from the %s", "child")
            ctx.logger.warning("of the job")
            return os.getpid()
        """,
        "--process-slots=1",
        "--log-format=json",
    )
    worker.wait_for("worker.started")
    job = app.enqueue("chatty")
    worker.wait_for("job.completed")
    worker.stop()
    records = [json.loads(line) for line in worker.lines]
    (mine,) = [record for record in records if record["logger"] == "mine"]
    assert (mine["level"], mine["message"]) == ("info", "from the child")
    (bound,) = [record for record in records if record["message"] == "of the job"]
    assert (bound["level"], bound["job_id"], bound["attempt"]) == ("warning", job.id, 1)


@pytest.mark.parametrize(
    ("handlers", "code", "problem"),
    [
        ("""
         from penstock.worker.processes import child_main

         @app.job(runner="process")
         def work() -> None: ...

         if child_main.loading:
             import no_such_module
         """, 2, "the process handlers of this app cannot run: ModuleNotFoundError: No module named 'no_such_module'"),
        ("""
         if __name__ == "tasks":
             app.job(runner="process")(lambda: None)
         """, 1, "<lambda> cannot run in a process: it is a lambda"),
    ],
    ids=["a child cannot import it", "a lambda"],
)  # fmt: skip
def test_an_app_that_cannot_run_is_said_in_a_line(
    supervised: Supervised, handlers: str, code: int, problem: str
) -> None:
    worker = supervised.start(handlers)
    assert worker.wait() == code
    assert problem in worker.output
    assert "Traceback" not in worker.output


def test_an_app_in_the_script_itself_is_said(tmp_path: Path, address: str) -> None:
    (tmp_path / "handlers.py").write_text("def work() -> None: ...\n")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(f"""
        import asyncio
        from penstock import App
        from handlers import work

        app = App({address!r})
        app.job(runner="process")(work)
        asyncio.run(app.run_worker(burst=True))
        """)
    )
    process = Process(script, [])
    try:
        assert process.wait() == 1
        assert "ConfigError: child processes cannot import this app" in process.output
    finally:
        process.end()
