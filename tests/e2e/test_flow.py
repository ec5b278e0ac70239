"""Pause, resume, drain and resize while real workers run: all of them hear of it, at once (L5)."""

from __future__ import annotations

import signal

from penstock import App, State
from penstock.store import contract as p
from tests.e2e.processes import Process, Processes, counts, until
from tests.e2e.test_orderly_stop import GATED, status_of

QUICK = """
@app.job(queue="mail")
async def quick(number: int) -> None:
    say("ran", number)

@app.job(queue="rest")
async def other(number: int) -> None:
    say("other ran", number)
"""

SEVERAL = """
@app.job(attempts=2)
async def gated(gate: str) -> str:
    say("begun")
    while not os.path.exists(gate):
        await asyncio.sleep(0.01)
    return "through"

@app.job(attempts=2)
def in_thread(gate: str) -> str:
    say("begun")
    while not os.path.exists(gate):
        time.sleep(0.01)
    return "through"
"""


def worker_id(app: App, worker: Process) -> str:
    return next(row.id for row in app.store.list_workers().wait() if row.pid == worker.pid)


def drain(app: App, worker: Process) -> bool:
    return app.store.drain_worker(p.DrainWorker(worker_id(app, worker))).wait()


def resize(app: App, worker: Process, slots: int) -> int:
    return app.store.resize_worker(p.ResizeWorker(worker_id(app, worker), slots)).wait()


# Pause and resume


def test_running_workers_take_nothing_of_a_paused_queue_and_go_on_when_it_is_resumed(
    app: App, processes: Processes
) -> None:
    workers = [processes.worker(QUICK) for _ in range(2)]
    app.enqueue("quick", {"number": 0}, queue="mail").result(timeout=30)
    app.pause_queue("mail", reason="the provider is down")
    held = [app.enqueue("quick", {"number": number}, queue="mail") for number in range(1, 6)]
    free = [app.enqueue("other", {"number": number}, queue="rest") for number in range(5)]
    for job in free:
        job.result(timeout=30)
    assert {job.state() for job in held} == {State.PENDING}
    app.resume_queue("mail")
    for job in held:
        job.result(timeout=30)
    for worker in workers:
        worker.stop()  # What it has printed is read by then.
    assert sum(len(worker.printed("ran")) for worker in workers) == 11


def test_a_pause_under_load_leaves_nothing_that_begins_after_it(app: App, processes: Processes) -> None:
    """Claims of two workers are under way all the time. What was claimed before may still run; then all is still."""
    for _ in range(2):
        processes.worker(QUICK)
    calls = [app.client.call_by_name("quick", {"number": number}, {"queue": "mail"}, {}) for number in range(4000)]
    app.enqueue_many(calls)
    until(lambda: counts(app).get(State.COMPLETED, 0) > 100, "the workers are at it")
    app.pause_type("quick")
    newest = [job.claimed_at for job in app.store.list_jobs(p.ListJobs(limit=5000)).wait() if job.claimed_at]
    [pause] = app.store.list_pauses().wait()
    until(lambda: not {State.CLAIMED, State.RUNNING} & set(counts(app)), "what was claimed has ended")
    left = counts(app)[State.PENDING]
    assert left > 0, "the pause came in the middle"
    later = [job.claimed_at for job in app.store.list_jobs(p.ListJobs(limit=5000)).wait() if job.claimed_at]
    assert max(later) == max(newest), "nothing was claimed after the pause had answered"
    app.resume_type("quick")
    until(lambda: counts(app) == {State.COMPLETED: 4000}, "all are done")
    assert pause.actor == "client"


def test_a_worker_in_burst_mode_ends_when_only_paused_jobs_are_left(app: App, processes: Processes) -> None:
    app.pause_queue("mail", force=True)
    held = app.enqueue("quick", {"number": 1}, queue="mail")
    worker = processes.launch(QUICK, burst=True)
    assert worker.wait() == 0
    assert held.state() is State.PENDING


# Drain


def test_a_drained_worker_finishes_what_it_has_and_stops(app: App, processes: Processes, gate: str) -> None:
    worker = processes.worker(GATED, shutdown_timeout=0)
    job = app.enqueue("gated", {"gate": gate})
    worker.wait_for("begun 1")
    assert drain(app, worker)
    worker.wait_for("told to drain")
    late = app.enqueue("gated", {"gate": gate})
    assert status_of(app, worker) == "draining"
    open(gate, "w").close()
    assert worker.wait() == 0
    assert job.result(timeout=0) == "through"
    assert late.state() is State.PENDING
    assert status_of(app, worker) == "inactive"


def test_an_idle_worker_hears_of_it_too(app: App, processes: Processes) -> None:
    worker = processes.worker(QUICK)
    assert drain(app, worker)
    assert worker.wait() == 0
    assert status_of(app, worker) == "inactive"


def test_a_signal_while_it_drains_ends_it_within_the_grace(app: App, processes: Processes, gate: str) -> None:
    worker = processes.worker(GATED, shutdown_timeout=0.1)
    job = app.enqueue("gated", {"gate": gate})
    worker.wait_for("begun 1")
    drain(app, worker)
    worker.wait_for("told to drain")
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert (job.read().state, job.read().attempt) == (State.PENDING, 0)


def test_only_the_worker_that_was_told_drains(app: App, processes: Processes) -> None:
    told, other = processes.worker(QUICK), processes.worker(QUICK)
    drain(app, told)
    assert told.wait() == 0
    app.enqueue("quick", {"number": 7}, queue="mail").result(timeout=30)
    other.wait_for("ran 7")
    other.stop()


# Resize


def test_more_slots_begin_more_at_once(app: App, processes: Processes, gate: str) -> None:
    worker = processes.worker(SEVERAL, concurrency=1)
    jobs = [app.enqueue(name, {"gate": gate}) for name in ("gated", "in_thread", "gated", "in_thread")]
    worker.wait_for("begun", count=1)
    assert resize(app, worker, 4) == 1
    worker.wait_for("begun", count=4)
    assert [row.slots for row in app.store.list_workers().wait()] == [4]
    open(gate, "w").close()
    assert [job.result(timeout=30) for job in jobs] == ["through"] * 4


def test_with_fewer_slots_the_surplus_finishes_and_no_more_begin(app: App, processes: Processes, gate: str) -> None:
    worker = processes.worker(
        """
        @app.job
        async def gated(gate: str) -> str:
            say("begun", gate[-1])
            while not os.path.exists(gate):
                await asyncio.sleep(0.01)
            return "through"
        """,
        concurrency=3,
    )
    gates = [f"{gate}{number}" for number in range(5)]
    jobs = [app.enqueue("gated", {"gate": one}) for one in gates]
    worker.wait_for("begun", count=3)
    assert resize(app, worker, 1) == 3
    worker.wait_for("resized from 3 to 1 slots")
    for one in gates[:2]:
        open(one, "w").close()
    assert [job.result(timeout=30) for job in jobs[:2]] == ["through"] * 2
    assert len(worker.printed("begun")) == 3, "two of three have ended, and one slot is taken"
    for one in gates[2:]:
        open(one, "w").close()
    assert [job.result(timeout=30) for job in jobs[2:]] == ["through"] * 3


def test_a_resized_worker_that_was_lost_registers_with_what_it_was_given(app: App, processes: Processes) -> None:
    worker = processes.worker(QUICK, concurrency=3, heartbeat_interval=0.2)
    resize(app, worker, 2)
    worker.wait_for("resized from 3 to 2 slots")
    worker.freeze(app)
    until(lambda: app.store.recover_jobs(p.RecoverJobs(0.6)).wait().workers, "it is declared lost")
    worker.send(signal.SIGCONT)
    worker.wait_for("registering again")
    until(lambda: status_of(app, worker) == "active", "it is back")
    assert app.store.list_workers().wait()[0].slots == 2
