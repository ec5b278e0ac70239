"""Workers that die, hang or come back: their jobs are taken over once, and one outcome counts."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from penstock import App, Fixed, State
from tests.e2e.processes import Processes, counts, until

pytestmark = pytest.mark.turns

QUICK_RECOVERY = {"heartbeat_interval": 0.3, "recovery_interval": 0.2, "leader_lease": 0.5}
STALE_SECONDS = 0.9

GATED = """
@app.job(attempts=3, backoff=Fixed(0.01))
async def gated(gate: str) -> str:
    attempt = penstock.current().attempt
    say("begun", attempt)
    while attempt == 1 and not os.path.exists(gate):
        await asyncio.sleep(0.01)
    say("returns", attempt)
    return f"attempt {attempt}"
"""


def test_a_killed_workers_job_is_recovered_and_run_by_another(app: App, processes: Processes, gate: str) -> None:
    first = processes.worker(GATED, **QUICK_RECOVERY)
    job = app.enqueue("gated", {"gate": gate})
    first.wait_for("begun 1")
    until(lambda: job.state() is State.RUNNING, "the job is seen running")
    second = processes.worker(GATED, **QUICK_RECOVERY)
    first.send(signal.SIGKILL)
    first.wait()
    assert job.result(timeout=30) == "attempt 2"
    read = job.read()
    assert (read.attempt, read.crashes) == (2, 1)
    steps = app.store.read_history(job.id).wait()
    assert [(step.event, step.attempt) for step in steps] == [("recover", 1)]
    assert steps[0].reason == "its worker was lost"
    second.wait_for("recovered 1 job of lost workers")
    assert {row.pid: row.status for row in app.store.list_workers().wait()} == {first.pid: "lost", second.pid: "active"}


def test_a_restarted_worker_with_the_same_id_takes_its_jobs_back(app: App, processes: Processes, gate: str) -> None:
    """At once: its process is known to be gone, however long it might have been silent."""
    settings = {"heartbeat_interval": 600, "worker_id": "steady"}
    first = processes.worker(GATED, **settings)
    job = app.enqueue("gated", {"gate": gate})
    first.wait_for("begun 1")
    first.send(signal.SIGKILL)
    first.wait()
    processes.worker(GATED, **settings)
    assert job.result(timeout=30) == "attempt 2"
    assert job.read().crashes == 1
    assert [row.status for row in app.store.list_workers().wait()] == ["active", "lost"]


def test_a_worker_whose_process_lives_keeps_its_id(app: App, processes: Processes, gate: str) -> None:
    """Also while it is suspended, and is silent: nobody but its staleness says that it is gone."""
    settings = {"heartbeat_interval": 600, "worker_id": "steady"}
    first = processes.worker(GATED, **settings)
    first.freeze(app)
    assert processes.launch(GATED, **settings).wait_for_any("started:", "WorkerRefused") == "WorkerRefused"
    first.send(signal.SIGCONT)
    job = app.enqueue("gated", {"gate": gate})
    first.wait_for("begun 1")
    open(gate, "w").close()
    assert job.result(timeout=30) == "attempt 1"


def test_a_job_that_kills_its_worker_ends_dead_and_its_neighbours_survive(app: App, processes: Processes) -> None:
    handlers = """
    @app.job
    async def killer() -> None:
        say("goes down")
        os._exit(3)

    @app.job
    async def neighbour(number: int) -> int:
        return number
    """
    killer = app.enqueue("killer", attempts=2, backoff=Fixed(0.01))
    neighbours = [app.enqueue("neighbour", {"number": number}, attempts=5, backoff=Fixed(0.01)) for number in range(20)]
    for _ in range(2):
        worker = processes.worker(handlers, **QUICK_RECOVERY)
        worker.wait_for("goes down")
        assert worker.wait() == 3
    survivor = processes.worker(handlers, **QUICK_RECOVERY)
    assert [job.result(timeout=30) for job in neighbours] == list(range(20))
    until(lambda: killer.state() is State.DEAD, "the killer is quarantined")
    read = killer.read()
    assert (read.attempt, read.crashes, read.decided_by) == (2, 2, "recovery")
    assert read.reason == "its worker was lost; all 2 attempts used"
    assert read.error is not None
    assert "died or stopped answering" in read.error.message
    assert not survivor.printed("goes down"), "a third attempt was made"


def test_a_zombies_outcome_is_refused_and_it_goes_on_working(app: App, processes: Processes, gate: str) -> None:
    zombie = processes.worker(GATED, **QUICK_RECOVERY)
    job = app.enqueue("gated", {"gate": gate})
    zombie.wait_for("begun 1")
    second = processes.worker(GATED, **QUICK_RECOVERY)
    zombie.freeze(app)
    assert job.result(timeout=30) == "attempt 2"
    second.stop()
    open(gate, "w").close()
    zombie.send(signal.SIGCONT)
    zombie.wait_for("registering again")
    again = app.enqueue("gated", {"gate": gate})
    assert again.result(timeout=30) == "attempt 1"
    zombie.stop()
    read = job.read()
    assert (read.state, read.result, read.attempt) == (State.COMPLETED, "attempt 2", 2)
    assert [step.event for step in app.store.read_history(job.id).wait()] == ["recover"]
    assert len(zombie.printed("registering again")) == 1
    statuses = [row.status for row in app.store.list_workers().wait() if row.pid == zombie.pid]
    assert statuses == ["inactive", "lost"], "the newest registration signed off; the old one stays lost"


def test_a_zombie_thread_is_fenced_too(app: App, processes: Processes, gate: str, tmp_path: Path) -> None:
    handlers = """
    @app.job(attempts=3, backoff=Fixed(0.01))
    def slow(gate: str, mark: str) -> str:
        attempt = penstock.current().attempt
        say("begun", attempt)
        while attempt == 1 and not os.path.exists(gate):
            time.sleep(0.01)
        if attempt == 1:
            open(mark, "w").close()
        return f"attempt {attempt}"
    """
    mark = tmp_path / "late"
    zombie = processes.worker(handlers, **QUICK_RECOVERY)
    job = app.enqueue("slow", {"gate": gate, "mark": str(mark)})
    zombie.wait_for("begun 1")
    processes.worker(handlers, **QUICK_RECOVERY)
    zombie.freeze(app)
    assert job.result(timeout=30) == "attempt 2"
    zombie.send(signal.SIGCONT)
    zombie.wait_for("lost: the job was taken from this worker")
    open(gate, "w").close()
    until(mark.exists, "the abandoned thread came to its end")
    zombie.stop()
    assert (job.read().result, job.read().attempt) == ("attempt 2", 2)


def test_a_woken_worker_does_not_call_others_dead(app: App, processes: Processes, gate: str) -> None:
    """All workers slept at once, as on a closed laptop. The first to wake must give the others time to be heard."""
    workers = [processes.worker(GATED, **QUICK_RECOVERY, concurrency=1) for _ in range(2)]
    jobs = [app.enqueue("gated", {"gate": gate}) for _ in range(2)]
    for worker in workers:
        worker.wait_for("begun 1")
    for worker in workers:
        worker.freeze(app)
    seen = app.store.list_workers().wait()
    until(
        lambda: max(row.heartbeat_at for row in seen) + STALE_SECONDS * 1.5e6 < now_us(app),
        "both are silent for longer than staleness",
    )
    workers[0].send(signal.SIGCONT)
    beat = {row.pid: row.heartbeat_at for row in seen}[workers[0].pid]
    until(lambda: heartbeat(app, workers[0].pid) > beat, "the first one is heard again")
    workers[1].send(signal.SIGCONT)
    open(gate, "w").close()
    assert [job.result(timeout=30) for job in jobs] == ["attempt 1"] * 2
    assert [job.read().crashes for job in jobs] == [0, 0]
    assert counts(app) == {State.COMPLETED: 2}


def heartbeat(app: App, pid: int) -> int:
    return next(row.heartbeat_at for row in app.store.list_workers().wait() if row.pid == pid)


def now_us(app: App) -> int:
    return app._clock.now_us()
