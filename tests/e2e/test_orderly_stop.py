"""SIGTERM: no more claims, what runs may finish within the grace, the rest goes back without spending an attempt."""

from __future__ import annotations

import signal

import pytest

from penstock import App, State
from penstock.store.contract import ListJobs
from tests.e2e.processes import Process, Processes, counts, until

GATED = """
@app.job(attempts=2)
async def gated(gate: str) -> str:
    say("begun", penstock.current().attempt)
    while not os.path.exists(gate):
        await asyncio.sleep(0.01)
    say("passed")
    return "through"
"""

STUCK_ONCE = """
@app.job(attempts=1)
async def stuck(gate: str) -> str:
    say("begun", penstock.current().attempt)
    try:
        while not os.path.exists(gate):
            await asyncio.sleep(0.01)
    except asyncio.CancelledError:
        say("cancelled")
        raise
    return "through"
"""

STUCK_THREAD = """
@app.job(attempts=1)
def stuck(gate: str) -> str:
    say("begun", penstock.current().attempt)
    while not os.path.exists(gate):
        time.sleep(0.01)
    return "through"
"""


def status_of(app: App, worker: Process) -> str:
    return next(row.status for row in app.store.list_workers().wait() if row.pid == worker.pid)


def test_a_running_job_finishes_and_the_worker_signs_off(app: App, processes: Processes, gate: str) -> None:
    worker = processes.worker(GATED)
    job = app.enqueue("gated", {"gate": gate})
    worker.wait_for("begun 1")
    worker.send(signal.SIGTERM)
    worker.wait_for("stopping: finishing what runs")
    late = app.enqueue("gated", {"gate": gate})
    open(gate, "w").close()
    assert worker.wait() == 0
    assert job.result(timeout=0) == "through"
    assert late.state() is State.PENDING, "a draining worker must not claim"
    assert status_of(app, worker) == "inactive"
    worker.wait_for("worker returned")


def test_a_draining_worker_says_so(app: App, processes: Processes, gate: str) -> None:
    worker = processes.worker(GATED, heartbeat_interval=0.1)
    app.enqueue("gated", {"gate": gate})
    worker.wait_for("begun 1")
    worker.send(signal.SIGTERM)
    until(lambda: status_of(app, worker) == "draining", "the worker is shown as draining")
    open(gate, "w").close()
    assert worker.wait() == 0


def test_a_job_longer_than_the_grace_is_released_and_runs_elsewhere(app: App, processes: Processes, gate: str) -> None:
    first = processes.worker(STUCK_ONCE, shutdown_timeout=0.2)
    job = app.enqueue("stuck", {"gate": gate})
    first.wait_for("begun 1")
    first.send(signal.SIGTERM)
    first.wait_for("cancelled")
    assert first.wait() == 0
    assert job.read().attempt == 0, "a release does not spend the attempt"
    assert job.state() is State.PENDING
    open(gate, "w").close()
    second = processes.worker(STUCK_ONCE)
    assert job.result(timeout=30) == "through"
    second.wait_for("begun 1")
    assert (job.read().attempt, job.read().crashes) == (1, 0)
    assert [step.event for step in app.store.read_history(job.id).wait()] == ["release"]


def test_a_thread_that_outlasts_the_grace_is_released(app: App, processes: Processes, gate: str) -> None:
    worker = processes.worker(STUCK_THREAD, shutdown_timeout=0.2)
    job = app.enqueue("stuck", {"gate": gate})
    worker.wait_for("begun 1")
    worker.stop()
    assert (job.read().state, job.read().attempt) == (State.PENDING, 0)


def test_a_second_signal_stops_at_once_and_releases(app: App, processes: Processes, gate: str) -> None:
    worker = processes.worker(STUCK_ONCE, shutdown_timeout=600)
    jobs = [app.enqueue("stuck", {"gate": gate}) for _ in range(3)]
    worker.wait_for("begun", count=3)
    worker.send(signal.SIGTERM)
    worker.wait_for("stopping: finishing")
    worker.send(signal.SIGTERM)
    worker.wait_for("stopping at once")
    assert worker.wait() == 0
    assert [(job.read().state, job.read().attempt) for job in jobs] == [(State.PENDING, 0)] * 3
    assert status_of(app, worker) == "inactive"


def test_a_third_signal_while_a_handler_refuses_to_stop_still_releases(
    app: App, processes: Processes, gate: str
) -> None:
    worker = processes.worker(
        """
        @app.job(attempts=1)
        async def stubborn(gate: str) -> None:
            say("begun")
            while not os.path.exists(gate):
                try:
                    await asyncio.sleep(0.01)
                except asyncio.CancelledError:
                    say("refused to stop")
        """,
        shutdown_timeout=600,
    )
    job = app.enqueue("stubborn", {"gate": gate})
    worker.wait_for("begun")
    worker.send(signal.SIGTERM)
    worker.wait_for("stopping: finishing")
    worker.send(signal.SIGTERM)
    worker.wait_for("refused to stop")
    worker.send(signal.SIGTERM)
    worker.wait_for("was given up")
    until(lambda: job.read().state is State.PENDING, "the job was released")
    assert job.read().attempt == 0
    open(gate, "w").close()
    assert worker.wait() == 0
    assert status_of(app, worker) == "inactive"


def test_claimed_and_never_begun_jobs_go_back(app: App, processes: Processes, gate: str) -> None:
    """A pace of many quick jobs makes the worker prefetch; one that blocks the only slot leaves a full buffer."""
    worker = processes.worker(
        GATED
        + """
@app.job
async def quick() -> None: ...
""",
        concurrency=1,
        shutdown_timeout=0,
    )
    quick = [app.client.call_by_name("quick", {}, {}, {}) for _ in range(50)]
    gates = [f"{gate}-{number}" for number in range(10)]
    app.enqueue_many(quick * 20)
    for one in gates:
        app.enqueue_many([*quick, app.client.call_by_name("gated", {"gate": one}, {}, {})])
    for number, one in enumerate(gates):
        worker.wait_for("begun 1", number + 1)
        if counts(app).get(State.CLAIMED, 0) > 1:  # It is in the slot, others wait behind it.
            break
        open(one, "w").close()  # It was the last one of those that were fetched.
    else:
        pytest.fail("never were any jobs fetched ahead")
    worker.stop()
    assert set(counts(app)) == {State.COMPLETED, State.PENDING}
    assert sum(counts(app).values()) == 1510
    pending = app.store.list_jobs(ListJobs(states=frozenset({State.PENDING}), limit=5000)).wait()
    assert {job.attempt for job in pending} == {0}
    for one in gates:
        open(one, "w").close()
    processes.worker(GATED + "\n@app.job\nasync def quick() -> None: ...\n", burst=True).wait()
    assert counts(app) == {State.COMPLETED: 1510}
