"""What happened to jobs: every way in which one ends, goes back or comes anew is told, and is as the store has it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from penstock.domain.flow.gates import Gate
from penstock.domain.job import FINAL, Event, State
from penstock.domain.options import NO_RESOURCES, Tenant, Unique
from penstock.store import contract as p
from tests.contract.conftest import Hand
from tests.contract.flows import Flow
from tests.contract.world import STALE_AFTER, World, policy_text

START_TIMEOUT = 300.0
ACME = Tenant("acme", "eu")
ROUTED = {"type": "send", "queue": "mail", "capability": "media", "tenant": ACME}
"""What every job here can be told by."""


@pytest.fixture
def session(world: World) -> int:
    return world.register("worker-7", capabilities=("media",))


def only(happened: Sequence[p.Happened]) -> p.Happened:
    [one] = happened
    return one


def check(world: World, happened: Sequence[p.Happened]) -> Sequence[p.Happened]:
    """Each is said of a job as the store shows it now, or of one that is gone."""
    for one in happened:
        job = world.find(one.id)
        assert (job is None) == (one.state is None), one
        if job is not None:
            assert one.state in (job.state, None), one
            assert (one.type, one.queue, one.capability, one.tenant) == (
                job.type,
                job.queue,
                job.capability,
                job.tenant,
            )
            ended = one.state in FINAL and one.event is not Event.RETRIED
            assert not ended or one.decided_by == job.decided_by, one
    return happened


def routed(one: p.Happened) -> None:
    assert (one.type, one.queue, one.capability, one.tenant) == ("send", "mail", "media", ACME)


def claim(world: World, session: int, limit: int = 1) -> list[p.Claim]:
    return world.claim(session, limit, capabilities=("media",))


def claim_all(world: World, session: int) -> p.Claimed:
    return world.store.claim_jobs(p.ClaimJobs(session, 5, capabilities=("media",))).wait()


# Lost with a worker


def lose(world: World, session: int, **fields: object) -> p.Claim:
    [held] = claim(world, session)
    world.clock.advance(STALE_AFTER + 1)
    return held


def test_a_job_whose_worker_is_lost_is_told_as_going_back(world: World, session: int) -> None:
    job_id = world.add(**ROUTED, policy=policy_text(attempts=2))
    lose(world, session)
    one = only(check(world, world.recover().happened))
    routed(one)
    assert (one.event, one.id, one.attempt, one.state) == (Event.RECOVER, job_id, 1, State.SCHEDULED)
    assert (one.decided_by, one.error, one.worker) == ("recovery", "WorkerLost", "worker-7")
    assert one.reason is not None


def test_a_job_that_dies_with_its_worker_is_told_as_dead(world: World, session: int) -> None:
    job_id = world.add(**ROUTED, policy=policy_text(attempts=1))
    lose(world, session)
    one = only(check(world, world.recover().happened))
    routed(one)
    assert (one.event, one.id, one.attempt, one.state) == (Event.FAIL, job_id, 1, State.DEAD)
    assert (one.decided_by, one.error, one.worker) == ("recovery", "WorkerLost", "worker-7")


def test_a_job_that_was_cancelled_and_lost_is_told_as_cancelled(world: World, session: int) -> None:
    job_id = world.add(**ROUTED)
    held = lose(world, session)
    world.cancel(held.id)
    one = only(check(world, world.recover().happened))
    assert (one.event, one.id, one.state, one.decided_by) == (Event.CANCEL, job_id, State.CANCELLED, "operator")


def test_what_a_worker_leaves_to_its_successor_is_told(world: World, session: int) -> None:
    job_id = world.add(**ROUTED)
    lose(world, session)
    again = p.RegisterWorker(worker_id="worker-7", host="host", pid=2, version="1", slots=1, stale_after=STALE_AFTER)
    one = only(check(world, world.store.register_worker(again).wait().happened))
    assert (one.event, one.id, one.worker) == (Event.RECOVER, job_id, "worker-7")


# Never begun


def give_back(world: World) -> p.GivenBack:
    return world.store.give_back_jobs(p.GiveBackJobs(START_TIMEOUT, times_max=1)).wait()


def test_a_job_that_never_began_is_told_as_given_back_and_at_last_as_dead(world: World, session: int) -> None:
    job_id = world.add(**ROUTED)
    told = []
    for _ in range(2):
        claim(world, session)
        world.clock.advance(START_TIMEOUT)
        world.heartbeat(session)
        told.append(only(check(world, give_back(world).happened)))
    back, dead = told
    routed(back)
    assert (back.event, back.id, back.state, back.decided_by) == (
        Event.GIVE_BACK, job_id, State.PENDING, "start-timeout",
    )  # fmt: skip
    assert (dead.event, dead.id, dead.state, dead.decided_by, dead.error) == (
        Event.FAIL, job_id, State.DEAD, "start-timeout", "StartTimeout",
    )  # fmt: skip
    assert dead.worker == "worker-7"


def test_a_job_that_never_began_and_was_cancelled_is_told_as_cancelled(world: World, session: int) -> None:
    job_id = world.add(**ROUTED)
    claim(world, session)
    world.cancel(job_id)
    world.clock.advance(START_TIMEOUT)
    world.heartbeat(session)
    given = give_back(world)
    assert (given.waiting, given.dead) == ([], [])
    one = only(check(world, given.happened))
    assert (one.event, one.id, one.state) == (Event.CANCEL, job_id, State.CANCELLED)


# Waited for too long


def expired(one: p.Happened, job_id: str) -> None:
    routed(one)
    assert (one.event, one.id, one.attempt, one.state) == (Event.EXPIRE, job_id, 0, State.EXPIRED)
    assert one.decided_by == "ttl"


def test_what_the_leader_lets_expire_is_told(world: World) -> None:
    ids = world.add_many(3, **ROUTED, ttl=10.0)
    world.clock.advance(11)
    told = world.store.expire_jobs(p.ExpireJobs()).wait().happened
    assert sorted(one.id for one in check(world, told)) == sorted(ids)
    for one in told:
        expired(one, one.id)
    assert world.store.expire_jobs(p.ExpireJobs()).wait().happened == ()


def test_what_expires_before_a_limit_is_told(world: World, session: int) -> None:
    gate = Gate("key:k", 1, None, "job")
    first, second = (msgspec.structs.replace(world.new_job(**ROUTED, ttl=10.0), gates=(gate,)) for _ in range(2))
    world.enqueue(first)
    claim(world, session)
    world.enqueue(second)
    world.clock.advance(11)
    expired(only(check(world, world.store.expire_jobs(p.ExpireJobs()).wait().happened)), second.id)


def test_what_expires_on_the_way_of_a_claim_is_told_with_it(world: World, session: int) -> None:
    late, job_id = world.add(**ROUTED, ttl=10.0), world.add(**ROUTED)
    world.clock.advance(11)
    claimed = claim_all(world, session)
    assert [one.id for one in claimed.jobs] == [job_id]
    expired(only(check(world, claimed.happened)), late)
    assert claim_all(world, session).happened == ()


def test_what_expires_because_its_key_is_wanted_is_told_with_the_enqueue(world: World) -> None:
    key = Unique("k")
    late = world.add(**ROUTED, ttl=10.0, unique=key)
    world.clock.advance(11)
    plain, keyed = world.new_job(**ROUTED), world.new_job(**ROUTED, unique=key)
    answers = world.enqueue(plain, keyed)
    assert [one.created for one in answers] == [True, True]
    expired(only(check(world, [one for answer in answers for one in answer.happened])), late)


def test_what_expires_because_the_key_of_a_whole_enqueue_is_wanted_is_told_with_it(world: World) -> None:
    late = world.add(**ROUTED, ttl=10.0, unique=Unique("k"))
    world.clock.advance(11)
    job = world.new_job(**ROUTED)
    [answer] = world.store.enqueue_jobs(p.EnqueueJobs([job], whole=p.WholeKey("k", 60.0))).wait()
    assert answer.created
    expired(only(check(world, answer.happened)), late)


def test_what_expires_because_it_is_cancelled_or_looked_for_is_told_with_that(world: World) -> None:
    late = world.add(**ROUTED, ttl=10.0)
    world.clock.advance(11)
    cancelled = world.cancel(late)
    assert cancelled.after is State.EXPIRED
    expired(only(check(world, cancelled.happened)), late)
    late = world.add(**ROUTED, ttl=10.0)
    world.clock.advance(11)
    retried = world.store.retry_dead(
        p.RetryDead(filter=p.DeadFilter(ids=(late,)), new_ids=[world.new_id()], actor="ann")
    ).wait()
    expired(retried.happened[0], late)


# No worker


def test_what_no_worker_can_run_is_told_as_dead(world: World) -> None:
    job_id = world.add(**ROUTED)
    world.add(type="other")
    fail = p.FailUnroutable(
        type="send", queue="mail", capability="media", resources=NO_RESOURCES, reason="nobody offers media"
    )
    failed = world.store.fail_unroutable(fail).wait()
    assert failed.ids == [job_id]
    one = only(check(world, failed.happened))
    routed(one)
    assert (one.event, one.id, one.state, one.decided_by, one.error) == (
        Event.FAIL, job_id, State.DEAD, "routing", "NoEligibleWorker",
    )  # fmt: skip
    assert one.reason == "nobody offers media"


def test_what_ends_at_once_for_want_of_a_worker_is_told_with_its_enqueue(world: World) -> None:
    [answer] = world.enqueue(world.new_job(**ROUTED, no_worker="fail"))
    assert answer.dead
    one = only(check(world, answer.happened))
    routed(one)
    assert (one.event, one.id, one.state, one.decided_by, one.error) == (
        Event.FAIL, answer.id, State.DEAD, "routing", "NoEligibleWorker",
    )  # fmt: skip
    job = world.read(answer.id)
    assert one.reason == job.reason


def test_a_job_that_nobody_can_read_is_told_as_dead_by_the_claim_that_meets_it(
    world: World, session: int, hand: Hand
) -> None:
    broken, job_id = world.add(**ROUTED, tags=("a",)), world.add(**ROUTED)
    hand(f"UPDATE penstock.job SET gates = '[1]' WHERE id = '{broken}'")
    claimed = claim_all(world, session)
    assert [one.id for one in claimed.jobs] == [job_id]
    one = only(claimed.happened)
    routed(one)
    assert (one.event, one.id, one.attempt, one.state) == (Event.FAIL, broken, 1, State.DEAD)
    assert (one.decided_by, one.error, one.worker) == ("store", "Unreadable", "worker-7")


# What people do


@pytest.mark.parametrize("fields", [{}, {"delay": 5.0}])
def test_a_waiting_job_that_is_cancelled_is_told(world: World, fields: dict[str, float]) -> None:
    job_id = world.add(**ROUTED, **fields)
    one = only(check(world, world.cancel(job_id, "ann").happened))
    routed(one)
    assert (one.event, one.id, one.state, one.decided_by) == (Event.CANCEL, job_id, State.CANCELLED, "operator")
    assert one.reason == "by ann"
    assert world.cancel(job_id).happened == ()


def test_asking_a_running_job_to_stop_is_no_end_of_it(world: World, session: int) -> None:
    job_id = world.add(**ROUTED)
    claim(world, session)
    assert world.cancel(job_id).happened == ()


def dead(world: World, session: int) -> str:
    job_id = world.add(**ROUTED)
    [held] = claim(world, session)
    world.end(held, Event.FAIL, error='{"type":"ValueError","message":"no"}', reason="gave up")
    return job_id


def test_a_retry_is_told_of_the_old_and_the_new(world: World, session: int) -> None:
    old, new = dead(world, session), world.new_id()
    retry = p.RetryDead(filter=p.DeadFilter(ids=(old,)), new_ids=[new], actor="ann")
    enqueued, retried = check(world, world.store.retry_dead(retry).wait().happened)
    for one in (enqueued, retried):
        routed(one)
    assert (enqueued.event, enqueued.id, enqueued.state) == (Event.ENQUEUE, new, State.PENDING)
    assert (retried.event, retried.id, retried.state, retried.decided_by) == (
        Event.RETRIED, old, State.DEAD, "operator",
    )  # fmt: skip


def test_what_is_purged_or_pruned_is_told_as_gone(world: World, session: int) -> None:
    ids = [dead(world, session) for _ in range(3)]
    purge = p.PurgeDead(filter=p.DeadFilter(ids=(ids[0],)), actor="ann")
    told = list(check(world, world.store.purge_dead(purge).wait().happened))
    world.clock.advance(100)
    prune = p.PruneJobs(completed_after=1e9, cancelled_after=1e9, dead_after=50.0)
    told += check(world, world.store.prune_jobs(prune).wait().happened)
    assert sorted(one.id for one in told) == sorted(ids)
    for one in told:
        routed(one)
        assert (one.event, one.attempt, one.state) == (Event.REMOVE, 1, None)


# Workflows


def test_the_steps_of_a_workflow_are_told_as_they_begin(world: World, session: int) -> None:
    flow = Flow(world, ("first", 2), ("second", 1, ["first"]))
    made = world.store.enqueue_workflow(p.EnqueueWorkflow(flow.new)).wait()
    assert [(one.event, one.id, one.state) for one in check(world, made.happened)] == [
        (Event.ENQUEUE, job_id, State.PENDING) for job_id in flow.ids("first")
    ]
    again = world.store.enqueue_workflow(p.EnqueueWorkflow(flow.new)).wait()
    assert (again.created, again.happened) == (False, ())
    claims = world.claim(world.register("general"))
    done = [p.Completed(one.token, world.clock.now_us(), member=one.id) for one in claims]
    finished = world.store.finish_jobs(p.FinishJobs(completed=done)).wait()
    one = only(check(world, finished.happened))
    assert (one.event, one.id, one.type, one.state) == (Event.ENQUEUE, *flow.ids("second"), "second", State.PENDING)


def test_a_workflow_that_is_cancelled_and_retried_tells_of_its_jobs(world: World) -> None:
    flow = Flow(world, ("first", 2)).enqueue()
    told = world.store.cancel_workflow(p.CancelWorkflow(id=flow.id)).wait().happened
    assert [(one.event, one.state) for one in check(world, told)] == [(Event.CANCEL, State.CANCELLED)] * 2
    ids = [world.new_id() for _ in range(3)]
    again = world.store.retry_workflow(p.RetryWorkflow(id=flow.id, new_ids=ids)).wait().happened
    assert [(one.event, one.id) for one in check(world, again)] == [(Event.ENQUEUE, id_) for id_ in ids[:2]]


def test_what_begins_because_a_leader_tells_a_workflow_is_told(world: World) -> None:
    flow = Flow(world, ("first", 1), ("second", 1, ["first"]), on_failure="continue").enqueue()
    world.cancel(*flow.ids("first"))
    told = world.store.settle_workflows(p.SettleWorkflows()).wait().happened
    assert [(one.event, one.id) for one in check(world, told)] == [(Event.ENQUEUE, *flow.ids("second"))]


# Outcomes


def test_of_outcomes_only_what_is_not_as_sent_is_told(world: World, session: int) -> None:
    ids = world.add_many(3, **ROUTED)
    done, cancelled, lost = claim(world, session, 3)
    world.cancel(cancelled.id)
    world.end(lost, Event.RELEASE)
    now = world.clock.now_us()
    answer = world.store.finish_jobs(
        p.FinishJobs(completed=[p.Completed(one.token, now) for one in (done, cancelled, lost)])
    ).wait()
    assert (answer.lost, answer.cancelled, answer.happened) == ([lost.token], [cancelled.token], ())
    assert world.state(cancelled.id) is State.CANCELLED
    assert ids == [done.id, cancelled.id, lost.id]


def test_a_follow_up_that_ends_at_once_is_told_with_the_end_of_its_parent(world: World, session: int) -> None:
    world.add(**ROUTED)
    [held] = claim(world, session)
    follow = world.new_job(type="nobody", no_worker="fail")
    finish = p.FinishJobs(completed=[p.Completed(held.token, world.clock.now_us())], follow_ups=[(held.token, follow)])
    one = only(check(world, world.store.finish_jobs(finish).wait().happened))
    assert (one.event, one.id, one.decided_by) == (Event.FAIL, follow.id, "routing")
