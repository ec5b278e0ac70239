"""An async handler that blocks the event loop: a classic mistake, which must cost no more than time (X1, A3)."""

from __future__ import annotations

from collections import Counter

import pytest

from penstock import App, State
from penstock.store.contract import ClaimJobs, HeartbeatWorker, RegisterWorker
from tests.e2e.processes import Processes, counts, until

pytestmark = pytest.mark.turns

BRISK = {
    "heartbeat_interval": 1.0, "recovery_interval": 0.2, "leader_lease": 0.5, "start_timeout": 2.0,
    "start_check_interval": 0.2,
}  # fmt: skip

HANDLERS = """
from penstock import State
from penstock.store.contract import ListJobs

@app.job(attempts=3)
async def block(gate: str) -> str:
    say("blocks", penstock.current().attempt)
    while not os.path.exists(gate):
        time.sleep(0.01)
    return "done"

@app.job
async def quick(number: int) -> None:
    say("ran", number)

@app.job
async def decoy() -> None: ...

def fetched_ahead(number: int) -> bool:
    # Whether this worker, the only one, holds jobs that come after this one.
    held = app.store.list_jobs(ListJobs(states=frozenset({State.CLAIMED}), limit=1000)).wait()
    return any(job.payload["number"] > number for job in held)

@app.job
async def some_blocks(number: int, gate: str) -> None:
    # The first that has others waiting behind it, of those that look.
    if number % 20 == 0 and not os.path.exists(gate + ".closed") and fetched_ahead(number):
        open(gate + ".closed", "w").close()
        say("blocks", number)
        while not os.path.exists(gate):
            time.sleep(0.01)
    say("ran", number)
"""


def let_start_timeout_pass(app: App) -> None:
    """What was claimed before has been judged when a job is given back that another claims now and never begins."""
    decoy = app.enqueue("decoy", priority=100, queue="decoys")
    lazy = (
        app.store.register_worker(
            RegisterWorker(worker_id="lazy", host="h", pid=1, version="1", slots=1, stale_after=600.0)
        )
        .wait()
        .session
    )
    until(lambda: app.store.claim_jobs(ClaimJobs(lazy, 1, queues=("decoys",))).wait().jobs, "the decoy is claimed")

    def is_given_back() -> bool:
        app.store.heartbeat_worker(HeartbeatWorker(lazy)).wait()
        return give_backs(app, decoy.id) == 1

    until(is_given_back, "the decoy is given back")


def give_backs(app: App, job_id: str) -> int:
    return sum(step.event == "give_back" for step in app.store.read_history(job_id).wait())


def test_what_blocks_the_loop_from_its_first_step_runs_once(app: App, processes: Processes, gate: str) -> None:
    """Also those that it holds up: they have slots here, and begin when the loop turns again."""
    first = processes.worker(HANDLERS, **BRISK, concurrency=3, queues="default")
    app.enqueue("quick", {"number": 0}).result(timeout=30)
    with app.transaction() as tx:
        jobs = [app.enqueue("block", {"gate": gate}, conn=tx) for _ in range(3)]
    first.wait_for("blocks 1")
    second = processes.worker(HANDLERS, **BRISK, concurrency=3, queues="default")
    until(lambda: counts(app).get(State.RUNNING) == 3, "all that the blocked worker has begun is known to run")
    let_start_timeout_pass(app)
    open(gate, "w").close()
    assert [job.result(timeout=30) for job in jobs] == ["done"] * 3
    assert (len(first.printed("blocks 1")), len(second.printed("blocks 1"))) == (3, 0)
    assert [(job.read().attempt, give_backs(app, job.id)) for job in jobs] == [(1, 0)] * 3


def test_what_waits_behind_a_blocked_loop_is_run_by_another_and_only_there(
    app: App, processes: Processes, gate: str
) -> None:
    """It is fetched ahead, and the start timeout gives it to another. The first must ask before it begins the rest."""
    calls = [app.client.call_by_name("some_blocks", {"number": number, "gate": gate}, {}, {}) for number in range(2000)]
    jobs = app.enqueue_many(calls)
    patient = {**BRISK, "start_timeout": 6.0}  # Longer than a busy machine lets a job wait that was fetched ahead.
    first = processes.worker(HANDLERS, **patient, concurrency=1)
    first.wait_for("blocks ")
    number = int(first.printed("blocks ")[0].split()[-1])
    second = processes.worker(HANDLERS, **patient, concurrency=10)
    held = {State.RUNNING, State.COMPLETED}  # Of those that ran before the blocker some wait for the loop to be stored.
    until(lambda: set(counts(app)) == held, "another has run all that had not begun")
    assert sum(give_backs(app, job.id) for job in jobs[number + 1 : number + 1000]) > 0, "nothing was fetched ahead"
    open(gate, "w").close()
    jobs[number].result(timeout=30)
    app.enqueue("quick", {"number": 2000}).result(timeout=30)
    first.stop()
    second.stop()
    ran = Counter(line for worker in (first, second) for line in worker.printed("ran "))
    assert (len(ran), set(ran.values())) == (2001, {1})
    assert [job.read().attempt for job in jobs[:5]] == [1] * 5
