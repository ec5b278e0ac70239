"""A job enqueued by plain code in one process is run by a worker in another."""

from __future__ import annotations

import time

from penstock import App, State
from tests.e2e.processes import Processes

ECHO = """
@app.job
async def echo(word: str) -> str:
    return word.upper()
"""

WITHOUT_POLLING = """
from penstock.store.sqlite.connection.doorbell import DoorbellListener
from penstock.worker.claiming import claimer

wait = DoorbellListener.wait
DoorbellListener.wait = lambda self, timeout: wait(self, 600)
claimer.LOOK_AGAIN_SECONDS = 600
"""

WITHOUT_BELL = """
from penstock.store.sqlite.connection.doorbell import DoorbellListener

DoorbellListener._on_ring = lambda self: self._socket.recv(64)
"""


def test_result_comes_back_from_a_worker_in_another_process(app: App, processes: Processes) -> None:
    job = app.enqueue("echo", {"word": "hello"})
    assert job.state() is State.PENDING
    worker = processes.worker(ECHO)
    assert job.result(timeout=30) == "HELLO"
    read = job.read()
    assert (read.state, read.attempt, read.crashes, read.decided_by) == (State.COMPLETED, 1, 0, "worker")
    assert read.worker_id is not None
    assert f"-{worker.pid}-" in read.worker_id
    worker.stop()


def test_an_idle_worker_is_woken_by_an_enqueue_in_another_process(app: App, processes: Processes) -> None:
    processes.worker(WITHOUT_POLLING + ECHO, poll_interval=600)
    assert app.enqueue("echo", {"word": "first"}).result(timeout=30) == "FIRST"
    assert app.enqueue("echo", {"word": "again"}).result(timeout=30) == "AGAIN"


def test_a_worker_that_hears_no_wake_ups_finds_jobs_by_polling(app: App, processes: Processes) -> None:
    processes.worker(WITHOUT_BELL + ECHO, poll_interval=0.05)
    assert app.enqueue("echo", {"word": "polled"}).result(timeout=30) == "POLLED"


def test_a_delayed_job_runs_when_it_is_due_and_not_before(app: App, processes: Processes) -> None:
    processes.worker(ECHO)
    enqueued = time.monotonic()
    job = app.enqueue("echo", {"word": "later"}, delay="400ms")
    assert job.state() is State.SCHEDULED
    assert job.result(timeout=30) == "LATER"
    assert time.monotonic() - enqueued >= 0.4
    read = job.read()
    assert read.claimed_at is not None
    assert read.claimed_at >= read.due_at


def test_options_declared_by_a_worker_hold_for_an_enqueue_by_name(app: App, processes: Processes) -> None:
    processes.worker(
        """
        @app.job(attempts=7, queue="mail", priority=3)
        async def send(to: str) -> None: ...
        """
    )
    read = app.enqueue("send", {"to": "someone"}).read()
    assert (read.max_attempts, read.queue, read.priority) == (7, "mail", 3)
