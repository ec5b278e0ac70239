"""What one worker does for all, with real processes (A7, A9): every job ends in a state, with a reason."""

from __future__ import annotations

import signal

import pytest

from penstock import App, State
from penstock.store.contract import ListDead
from tests.e2e.processes import Process, Processes, until

pytestmark = pytest.mark.turns

BRISK = {
    "heartbeat_interval": 0.3, "recovery_interval": 0.1, "leader_lease": 0.5, "start_timeout": 0.6,
    "start_check_interval": 0.1, "probe_interval": 0.2,
}  # fmt: skip

LAZY = """
from penstock.store import contract as p

session = app.store.register_worker(
    p.RegisterWorker(worker_id="lazy", host="h", pid=os.getpid(), version="1", slots=5, stale_after=600.0)
).wait().session
claimed = app.store.claim_jobs(p.ClaimJobs(session, 5)).wait().jobs
say("claimed", len(claimed))
while True:
    time.sleep(0.1)
    app.store.heartbeat_worker(p.HeartbeatWorker(session)).wait()
"""

TASK = """
    @app.job
    async def task() -> str:
        say("task runs")
        return "done"
"""


def test_claimed_and_never_begun_is_given_to_another_and_no_attempt_is_spent(app: App, processes: Processes) -> None:
    job = app.enqueue("task")
    lazy = processes.script(LAZY)
    lazy.wait_for("claimed 1")
    worker = processes.worker(TASK, **BRISK)
    assert job.result(timeout=30) == "done"
    read = job.read()
    assert (read.attempt, read.crashes) == (1, 0)
    steps = app.store.read_history(job.id).wait()
    assert [step.event for step in steps] == ["give_back"]
    assert "timeout" in str(steps[0].reason)
    worker.wait_for("attempt 1 returned: start timeout")


def test_no_worker_can_run_it_and_its_type_wants_to_fail(app: App, processes: Processes) -> None:
    declares = processes.worker(
        """
        @app.job(no_worker="fail")
        async def hasty() -> None: ...

        @app.job
        async def patient() -> None: ...
        """
    )
    declares.stop()
    hasty, patient = app.enqueue("hasty"), app.enqueue("patient")
    other = processes.worker(TASK, **BRISK)
    until(lambda: hasty.state() is State.DEAD, "the hasty job is dead")
    read = hasty.read()
    assert (read.decided_by, read.attempt) == ("routing", 0)
    assert read.error is not None
    assert read.error.type == "NoEligibleWorker"
    assert str(read.reason).startswith("no workers available: ")
    assert patient.state() is State.PENDING
    other.wait_for("jobs of type patient on queue default are waiting and no live worker can run them")
    processes.worker(
        """
        @app.job
        async def patient() -> int:
            return 7
        """,
        **BRISK,
    )
    assert patient.result(timeout=30) == 7
    other.wait_for("jobs of type patient on queue default no longer wait for a worker")


def test_a_worker_that_stops_in_order_is_inactive_and_receives_nothing(app: App, processes: Processes) -> None:
    worker = processes.worker(TASK, **BRISK)
    first = app.enqueue("task")
    assert first.result(timeout=30) == "done"
    worker.stop()
    (listed,) = app.store.list_workers().wait()
    assert listed.status == "inactive"
    second = app.enqueue("task")
    successor = processes.worker(TASK, **BRISK)
    assert second.result(timeout=30) == "done"
    assert len(worker.printed("task runs")) == len(successor.printed("task runs")) == 1


def test_what_waits_too_long_expires_while_all_are_busy(app: App, processes: Processes, gate: str) -> None:
    handlers = """
    @app.job
    async def long(gate: str) -> None:
        say("long runs")
        while not os.path.exists(gate):
            await asyncio.sleep(0.01)
    """
    worker = processes.worker(handlers, concurrency=1, **BRISK)
    app.enqueue("long", {"gate": gate})
    worker.wait_for("long runs")
    job = app.enqueue("long", {"gate": gate}, ttl=0.2)
    until(lambda: job.state() is State.EXPIRED, "the job has expired")
    assert job.read().decided_by == "ttl"
    until(lambda: [letter.id for letter in app.store.list_dead(ListDead()).wait().jobs] == [job.id], "it is listed")


# Who leads


def terms_led(worker: Process) -> list[int]:
    """Those that it has had so far: one that a busy machine holds up may lose the lead and win it again."""
    return [int(line.split()[-1]) for line in worker.printed(" leads, term ") if "no longer" not in line]


def await_lead(worker: Process, after: Process) -> None:
    until(lambda: max(terms_led(worker), default=0) > max(terms_led(after)), "another leads, in a later term")


def test_when_the_leader_is_killed_another_takes_over_and_recovers_its_jobs(
    app: App, processes: Processes, gate: str
) -> None:
    gated = """
    @app.job(attempts=3, backoff=Fixed(0.01))
    async def gated(gate: str) -> int:
        attempt = penstock.current().attempt
        say("begun", attempt)
        while attempt == 1 and not os.path.exists(gate):
            await asyncio.sleep(0.01)
        return attempt
    """
    first = processes.worker(gated, **BRISK)
    first.wait_for(" leads, term 1")
    job = app.enqueue("gated", {"gate": gate})
    first.wait_for("begun 1")
    second = processes.worker(TASK + gated, **BRISK)
    first.send(signal.SIGKILL)
    first.wait()
    assert job.result(timeout=30) == 2
    await_lead(second, after=first)
    second.wait_for("recovered 1 job of lost workers")


def test_a_leader_that_was_stopped_for_a_while_leads_no_more(app: App, processes: Processes) -> None:
    first = processes.worker(TASK, **BRISK)
    first.wait_for(" leads, term 1")
    second = processes.worker(TASK, **BRISK)
    first.freeze(app)
    await_lead(second, after=first)
    first.send(signal.SIGCONT)
    first.wait_for(f"no longer leads, term {terms_led(first)[-1]}")
    jobs = [app.enqueue("task") for _ in range(5)]
    assert [job.result(timeout=30) for job in jobs] == ["done"] * 5
    terms = terms_led(first) + terms_led(second)
    assert len(set(terms)) == len(terms)


def test_a_leader_that_stops_in_order_leaves_the_lead_to_the_next(app: App, processes: Processes) -> None:
    settings = {**BRISK, "leader_lease": 3600}
    first = processes.worker(TASK, **settings)
    first.wait_for(" leads, term 1")
    first.stop()
    second = processes.worker(TASK, **settings)
    second.wait_for(" leads, term 2")
