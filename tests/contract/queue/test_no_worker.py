"""Jobs whose type or queue does not wait for a worker: they end as they are enqueued, if no live one can run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from penstock.domain.flow.gates import Gate
from penstock.domain.job import Job, State
from penstock.domain.options import Options, Resources, Unique
from penstock.domain.workflows import WorkflowState
from penstock.store import contract as p
from tests.contract.world import STALE_AFTER, World

HASTY: dict[str, Any] = {"no_worker": "fail"}


def gated(world: World, ordered: bool = False, **fields: Any) -> p.NewJob:
    gate = Gate("key:a", 1, None, "key:a", ordered)
    return msgspec.structs.replace(world.new_job(**fields), gates=(gate,))


class OnPurpose(Exception):
    """What the caller's own code raises."""


def undo(world: World, job: p.NewJob) -> None:
    """A transaction that enqueues and then raises."""
    with world.store.transaction() as tx:
        assert world.store.enqueue_jobs(p.EnqueueJobs([job], tx)).wait()[0].dead
        raise OnPurpose


def assert_dead(job: Job, reason: str = "no workers available: no worker is running") -> None:
    assert (job.state, job.decided_by, job.reason, job.attempt) == (State.DEAD, "routing", reason, 0)
    assert job.error is not None
    assert (job.error.type, job.error.message) == ("NoEligibleWorker", reason)


def test_without_any_worker_it_is_dead_at_once_and_listed(world: World) -> None:
    [answer] = world.enqueue(world.new_job(**HASTY))
    assert (answer.created, answer.dead) == (True, True)
    assert_dead(world.read(answer.id))
    assert [letter.id for letter in world.dead().jobs] == [answer.id]
    assert world.claim(world.register()) == []


def test_others_wait(world: World) -> None:
    [answer] = world.enqueue(world.new_job())
    assert (answer.dead, world.state(answer.id)) == (False, State.PENDING)


def test_with_a_worker_that_can_run_it_it_waits_for_that(world: World, session: int) -> None:
    [answer] = world.enqueue(world.new_job(**HASTY))
    assert not answer.dead
    assert [claim.id for claim in world.claim(session)] == [answer.id]


@pytest.mark.parametrize(
    ("takes", "reason"),
    [
        ({"types": ("other",)}, "none takes the type 'task', which no worker has ever declared"),
        ({"queues": ("other",)}, "none serves the queue 'default'"),
        ({"capabilities": ("ml",)}, "none has the capability 'general'"),
        ({"resources": Resources(cpu=1)}, "none has cpu 2 (the most is cpu 1)"),
        ({}, "none has cpu 2 (the most is cpu 0)"),
        ({"types": (), "capabilities": (), "slots": 0}, "no worker is running"),
    ],
)
def test_a_worker_that_does_not_take_it_is_none(world: World, takes: dict[str, Any], reason: str) -> None:
    world.register(**takes)
    needs = Resources(cpu=2) if "cpu" in reason else Resources()
    assert_dead(world.read(world.add(resources=needs, **HASTY)), f"no workers available: {reason}")


def drains(world: World, session: int) -> None:
    world.heartbeat(session, "draining")


def ends(world: World, session: int) -> None:
    world.heartbeat(session, "inactive")


def fails_probes(world: World, session: int) -> None:
    world.store.mark_workers(p.MarkWorkers(failing=(session,))).wait()


def is_silent(world: World, session: int) -> None:
    world.clock.advance(STALE_AFTER + 1)


@pytest.mark.parametrize("goes", [drains, ends, fails_probes, is_silent])
def test_a_worker_that_takes_nothing_any_more_is_none(
    world: World, session: int, goes: Callable[[World, int], None]
) -> None:
    goes(world, session)
    assert_dead(world.read(world.add(**HASTY)))


def test_one_that_was_silent_for_less_than_its_patience_counts(world: World, session: int) -> None:
    world.clock.advance(STALE_AFTER)
    assert world.state(world.add(**HASTY)) is State.PENDING


@pytest.mark.parametrize("kind", ["queue", "type"])
def test_what_is_paused_waits_for_a_person(world: World, kind: Any) -> None:
    world.pause(kind, "default" if kind == "queue" else "task", actor="ann", force=True)
    assert world.state(world.add(**HASTY)) is State.PENDING


def test_one_that_is_not_due_is_not_judged(world: World) -> None:
    later, at = world.add(delay=60.0, **HASTY), world.add(at=world.clock.now_us() + 10_000_000, **HASTY)
    assert (world.state(later), world.state(at)) == (State.SCHEDULED, State.SCHEDULED)
    assert_dead(world.read(world.add(at=world.clock.now_us() - 1, **HASTY)))


def test_of_many_only_those_that_do_not_wait_and_have_nobody(world: World) -> None:
    world.register(types=("known",))
    jobs = [
        world.new_job(type=name, no_worker=policy)
        for name in ("known", "strange") for policy in ("wait", "fail") for _ in range(3)
    ]  # fmt: skip
    answers = world.enqueue(*jobs)
    assert [answer.dead for answer in answers] == [False] * 9 + [True] * 3
    assert [world.state(job.id) for job in jobs] == [State.PENDING] * 9 + [State.DEAD] * 3


def test_the_same_id_again_changes_nothing(world: World) -> None:
    job = world.new_job(**HASTY)
    world.enqueue(job)
    session = world.register()
    [again] = world.enqueue(job)
    assert (again.created, again.dead, world.state(job.id)) == (False, False, State.DEAD)
    waiting = world.new_job(**HASTY)
    world.enqueue(waiting)
    world.heartbeat(session, "inactive")
    world.enqueue(waiting)
    assert world.state(waiting.id) is State.PENDING


def test_in_a_transaction_of_the_caller_it_is_judged_there(world: World) -> None:
    kept, undone = world.new_job(**HASTY), world.new_job(**HASTY)
    with world.store.transaction() as tx:
        [answer] = world.store.enqueue_jobs(p.EnqueueJobs([kept], tx)).wait()
    assert answer.dead
    assert_dead(world.read(kept.id))
    with pytest.raises(OnPurpose):
        undo(world, undone)
    assert world.find(undone.id) is None


def test_its_unique_key_is_free_again(world: World) -> None:
    first, second = (world.new_job(unique=Unique("a"), **HASTY) for _ in range(2))
    world.enqueue(first)
    [answer] = world.enqueue(second)
    assert (answer.id, answer.created, answer.dead) == (second.id, True, True)
    world.register()
    third = world.new_job(unique=Unique("a"), **HASTY)
    assert world.enqueue(third) == [p.Enqueued(third.id, True)]


@pytest.mark.parametrize("ordered", [False, True])
def test_a_limit_is_free_for_those_behind_it(world: World, ordered: bool) -> None:
    session = world.register(types=("task",))
    holder = gated(world, ordered)
    world.enqueue(holder)
    claim = world.claim_one(session)
    strange, behind = gated(world, ordered, type="strange", **HASTY), gated(world, ordered)
    answers = world.enqueue(strange, behind)
    assert [answer.dead for answer in answers] == [True, False]
    assert (world.state(strange.id), world.state(behind.id)) == (State.DEAD, State.BLOCKED)
    world.complete(claim)
    assert [one.id for one in world.claim(session)] == [behind.id]


def test_first_in_line_it_lets_the_next_go(world: World) -> None:
    session = world.register(types=("task",))
    strange, behind = gated(world, True, type="strange", **HASTY), gated(world, True)
    world.enqueue(strange)
    world.enqueue(behind)
    assert [one.id for one in world.claim(session)] == [behind.id]


def test_its_time_to_live_means_nothing_any_more(world: World) -> None:
    job = world.add(ttl=5.0, **HASTY)
    world.clock.advance(6)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert_dead(world.read(job))


def test_a_follow_up_is_judged_when_its_parent_ends(world: World) -> None:
    session = world.register(types=("task",))
    world.add()
    claim = world.claim_one(session)
    follow_up = world.new_job(type="strange", parent=claim.id, **HASTY)
    done = p.Completed(claim.token, world.clock.now_us())
    world.store.finish_jobs(p.FinishJobs(completed=[done], follow_ups=[(claim.token, follow_up)])).wait()
    assert (world.state(claim.id), world.state(follow_up.id)) == (State.COMPLETED, State.DEAD)


def workflow(world: World, *types: str) -> p.NewWorkflow:
    """One step after the other."""
    id_ = world.new_id()
    steps = tuple(
        p.NewStep(name, (world.new_job(type=name, parent=id_, **HASTY),), (number - 1,) if number else ())
        for number, name in enumerate(types)
    )
    return p.NewWorkflow(id=id_, name="flow", steps=steps)


def state_of(world: World, new: p.NewWorkflow) -> WorkflowState:
    found = world.store.read_workflow(new.id).wait()
    assert found is not None
    return found.state


def test_a_workflow_whose_first_job_has_nobody_has_failed_at_once(world: World) -> None:
    new = workflow(world, "strange", "task")
    assert world.store.enqueue_workflow(p.EnqueueWorkflow(new)).wait().created
    assert_dead(world.read(new.steps[0].jobs[0].id))
    assert state_of(world, new) is WorkflowState.FAILED


def test_a_workflow_fails_at_the_step_that_has_nobody(world: World) -> None:
    session = world.register(types=("task",))
    new = workflow(world, "task", "strange", "task")
    world.store.enqueue_workflow(p.EnqueueWorkflow(new)).wait()
    claim = world.claim_one(session)
    done = p.Completed(claim.token, world.clock.now_us(), member=claim.id)
    world.store.finish_jobs(p.FinishJobs(completed=[done])).wait()
    assert world.state(new.steps[1].jobs[0].id) is State.DEAD
    assert state_of(world, new) is WorkflowState.FAILED


def test_a_retry_of_a_dead_letter_is_judged_like_a_new_job(world: World, session: int) -> None:
    world.heartbeat(session, "inactive")
    other = world.register("other", types=("other",), declared={"task": Options(no_worker="fail")})
    old = world.add(**HASTY)
    retry = p.RetryDead(filter=p.DeadFilter(ids=(old,)), new_ids=[world.new_id()], actor="ann")
    [(_, new)] = world.store.retry_dead(retry).wait().pairs
    assert world.state(new) is State.DEAD
    world.heartbeat(other, "inactive")
    world.register("again")
    retry = p.RetryDead(filter=p.DeadFilter(ids=(new,)), new_ids=[world.new_id()], actor="ann")
    [(_, newest)] = world.store.retry_dead(retry).wait().pairs
    assert world.state(newest) is State.PENDING
