"""What the leader does for all, as the store carries it out: start timeouts, expiry, no worker, probes."""

from __future__ import annotations

import functools
import operator

import pytest

from penstock.domain.errors import WorkerInactive
from penstock.domain.job import Event, State
from penstock.domain.options import NO_RESOURCES, Resources
from penstock.store import contract as p
from tests.contract.engines import Engine
from tests.contract.world import World, plain, policy_text

# Claimed and not begun

START_TIMEOUT = 300.0


def give_back(world: World, session: int, **fields: int) -> p.GivenBack:
    """Judged when the worker was heard of."""
    world.heartbeat(session)
    return world.store.give_back_jobs(p.GiveBackJobs(START_TIMEOUT, **fields)).wait()


def test_a_job_that_has_not_begun_is_given_back_without_spending_an_attempt(world: World, session: int) -> None:
    job = world.add()
    old = world.claim_one(session)
    world.clock.advance(START_TIMEOUT)
    assert plain(give_back(world, session)) == p.GivenBack([job], [])
    assert (world.read(job).state, world.read(job).attempt, world.read(job).crashes) == (State.PENDING, 0, 0)
    assert world.events(job) == ["give_back"]
    assert world.complete(old) == [old.token]
    new = world.claim_one(session)
    assert (new.id, new.attempt) == (job, 1)
    assert new.token > old.token


def test_one_that_has_begun_or_was_claimed_of_late_is_left_alone(world: World, session: int) -> None:
    world.add()
    begun = world.claim_one(session)
    world.start(begun)
    world.clock.advance(START_TIMEOUT - 1)
    world.add()
    late = world.claim_one(session)
    world.clock.advance(1)
    assert plain(give_back(world, session)) == p.GivenBack([], [])
    assert world.complete(begun, late) == []


def test_it_is_dead_after_three_times(world: World, session: int) -> None:
    job = world.add()
    for _ in range(3):
        world.claim_one(session)
        world.clock.advance(START_TIMEOUT)
        assert plain(give_back(world, session)) == p.GivenBack([job], [])
    world.claim_one(session)
    world.clock.advance(START_TIMEOUT)
    assert plain(give_back(world, session)) == p.GivenBack([], [job])
    dead = world.read(job)
    assert (dead.state, dead.decided_by) == (State.DEAD, "start-timeout")
    assert dead.reason is not None
    assert "timeout" in dead.reason
    assert "4 times" in dead.reason
    assert dead.error is not None
    assert dead.error.type == "StartTimeout"
    assert world.claim(session) == []
    assert [letter.id for letter in world.dead().jobs] == [job]


def test_a_dead_one_that_is_not_kept_is_removed(world: World, session: int) -> None:
    job = world.add(policy=policy_text(remove_on_fail=True))
    world.claim_one(session)
    world.clock.advance(START_TIMEOUT)
    assert plain(give_back(world, session, times_max=0)) == p.GivenBack([], [job])
    assert world.find(job) is None


def test_one_that_a_person_cancelled_ends_cancelled(world: World, session: int) -> None:
    job = world.add()
    world.claim_one(session)
    world.cancel(job)
    world.clock.advance(START_TIMEOUT)
    assert plain(give_back(world, session)) == p.GivenBack([], [])
    assert world.state(job) is State.CANCELLED


def test_given_back_by_pages(world: World, session: int) -> None:
    jobs = world.add_many(5)
    world.claim(session)
    world.clock.advance(START_TIMEOUT)
    pages = [give_back(world, session, limit=2).waiting for _ in range(3)]
    assert [len(page) for page in pages] == [2, 2, 1]
    assert sorted(functools.reduce(operator.iadd, pages, [])) == sorted(jobs)


@pytest.mark.parametrize("ended", ["not heard of", "ended"])
def test_what_a_worker_holds_that_was_not_heard_of_is_left_to_the_recovery(
    world: World, session: int, ended: str
) -> None:
    """With a timeout that is shorter than the patience with workers, a job that kills would begin again and again."""
    job = world.add()
    world.claim_one(session)
    world.clock.advance(START_TIMEOUT - 1)
    world.heartbeat(session, "active" if ended == "not heard of" else "inactive")
    world.clock.advance(3600.0)
    assert plain(world.store.give_back_jobs(p.GiveBackJobs(START_TIMEOUT)).wait()) == p.GivenBack([], [])
    world.recover()
    assert (world.state(job), world.read(job).crashes) == (State.SCHEDULED, 1)


def test_what_nobody_holds_that_is_known_is_given_back(
    engine: Engine, address: str, world: World, session: int
) -> None:
    """A person deleted the worker: the recovery will never meet it."""
    job = world.add()
    world.claim_one(session)
    world.clock.advance(START_TIMEOUT)
    with world.store.transaction() as tx:
        tx.execute(f"DELETE FROM {engine.table(address, 'worker')}")
    assert plain(world.store.give_back_jobs(p.GiveBackJobs(START_TIMEOUT)).wait()) == p.GivenBack([job], [])


# Time-to-live, while nobody claims


def test_what_waited_too_long_expires_also_while_nobody_claims(world: World) -> None:
    now, later, kept = world.add(ttl=5.0), world.add(ttl=5.0, delay=3.0), world.add()
    world.clock.advance(6)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert (world.state(now), world.state(later), world.state(kept)) == (State.EXPIRED, State.PENDING, State.PENDING)
    world.clock.advance(3)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert (world.state(later), world.read(later).decided_by) == (State.EXPIRED, "ttl")


# No worker


def fail_unroutable(world: World, **fields: object) -> list[str]:
    lane = {"type": "task", "queue": "default", "capability": "general", "resources": NO_RESOURCES}
    return (
        world.store.fail_unroutable(
            p.FailUnroutable(**{**lane, "reason": "no workers available: none", **fields})  # type: ignore[arg-type]
        )
        .wait()
        .ids
    )


def test_jobs_that_no_worker_can_run_end_dead_with_the_reason(world: World, session: int) -> None:
    jobs = [world.add(), world.add(priority=5)]
    assert sorted(fail_unroutable(world)) == sorted(jobs)
    for job in map(world.read, jobs):
        assert (job.state, job.decided_by, job.attempt) == (State.DEAD, "routing", 0)
        assert job.reason == "no workers available: none"
        assert job.error is not None
        assert job.error.type == "NoEligibleWorker"
    assert world.claim(session) == []
    assert fail_unroutable(world) == []


def test_only_those_that_ask_for_the_same_and_are_due_and_not_held(world: World, session: int) -> None:
    held = world.add()
    claim = world.claim_one(session)
    others = [
        world.add(type="other"), world.add(queue="other"), world.add(capability="ml"),
        world.add(resources=Resources(gpu=1)), world.add(delay=60.0),
    ]  # fmt: skip
    assert fail_unroutable(world) == []
    assert [world.state(job) for job in others] == [State.PENDING] * 4 + [State.SCHEDULED]
    assert world.complete(claim) == []
    assert world.state(held) is State.COMPLETED


def test_one_that_became_due_while_nobody_claimed_fails_too(world: World) -> None:
    job = world.add(delay=5.0)
    world.clock.advance(5)
    assert fail_unroutable(world) == [job]


def test_they_fail_by_pages(world: World) -> None:
    world.add_many(5)
    assert [len(fail_unroutable(world, limit=2)) for _ in range(4)] == [2, 2, 1, 0]


# Probes


def mark(world: World, failing: tuple[int, ...] = (), well: tuple[int, ...] = ()) -> None:
    world.store.mark_workers(p.MarkWorkers(failing, well)).wait()


def test_a_worker_that_does_not_answer_gets_no_jobs_until_it_does(world: World, session: int) -> None:
    other = world.register("other")
    world.add_many(2)
    running = world.claim_one(session)
    mark(world, failing=(session,))
    with pytest.raises(WorkerInactive, match="health probes"):
        world.claim(session)
    assert world.heartbeat(session)
    with pytest.raises(WorkerInactive):
        world.claim(session)
    assert world.complete(running) == []
    mark(world, well=(session,))
    assert len(world.claim(session, 1)) == 1
    assert world.claim(other) == []


def test_it_is_listed_as_inactive(world: World) -> None:
    session = world.register("one", health="http://127.0.0.1:1234")
    (worker,) = world.store.list_workers().wait()
    assert (worker.session, worker.health, worker.failing, worker.status) == (
        session, "http://127.0.0.1:1234", False, "active",
    )  # fmt: skip
    mark(world, failing=(session,))
    (worker,) = world.store.list_workers().wait()
    assert (worker.failing, worker.status, worker.live) == (True, "inactive", False)
    mark(world, well=(session,))
    (worker,) = world.store.list_workers().wait()
    assert (worker.failing, worker.status, worker.live) == (False, "active", True)


@pytest.mark.parametrize("step", [0, 10, -3600])
def test_a_mark_is_over_after_its_heartbeats_whatever_the_clock_says(world: World, session: int, step: int) -> None:
    mark(world, failing=(session,))
    beats = 0
    while world.store.list_workers().wait()[0].failing:
        world.clock.advance(step)
        assert world.heartbeat(session)
        beats += 1
    assert 9 <= beats <= 12, "90 s by heartbeats of 10 s, and a little more"
    world.add()
    assert len(world.claim(session)) == 1


def test_one_that_was_never_reached_is_told_so_and_gets_jobs(world: World, session: int) -> None:
    world.store.mark_workers(p.MarkWorkers(unreached=(session,))).wait()
    (worker,) = world.store.list_workers().wait()
    assert (worker.unreached, worker.failing, worker.status, worker.live) == (True, False, "active", True)
    world.add()
    assert len(world.claim(session)) == 1
    mark(world, failing=(session,))
    (worker,) = world.store.list_workers().wait()
    assert (worker.unreached, worker.failing) == (False, True)


def test_one_that_has_ended_is_not_failing(world: World, session: int) -> None:
    mark(world, failing=(session,))
    world.heartbeat(session, "inactive")
    (worker,) = world.store.list_workers().wait()
    assert (worker.status, worker.failing) == ("inactive", False)


def test_its_jobs_are_left_to_the_heartbeat_rule(world: World, session: int) -> None:
    job = world.add()
    world.claim_one(session)
    mark(world, failing=(session,))
    assert world.recover().jobs == []
    world.clock.advance(31)
    assert world.recover().jobs == [job]


# Retry on another worker


def test_a_retry_is_left_to_others_for_a_while(world: World, session: int) -> None:
    other = world.register("other")
    job = world.add()
    world.end(world.claim_one(session), Event.BACK_OFF, delay=5.0, elsewhere=True)
    world.clock.advance(5)
    assert world.claim(session) == []
    (claim,) = world.claim(other)
    assert (claim.id, claim.attempt) == (job, 2)


def test_the_worker_that_failed_takes_it_when_nobody_else_did(world: World, session: int) -> None:
    job = world.add()
    world.end(world.claim_one(session), Event.BACK_OFF, delay=0.0, elsewhere=True)
    later = world.add()
    assert [claim.id for claim in world.claim(session)] == [later]
    world.clock.advance(2)
    assert [claim.id for claim in world.claim(session)] == [job]


def test_many_that_are_left_to_others_do_not_hide_the_rest(world: World, session: int) -> None:
    other = world.register("other")
    avoided = world.add_many(50)
    for claim in world.claim(session):
        world.end(claim, Event.BACK_OFF, elsewhere=True)
    rest = [world.add_many(10), world.add_many(10, type="more")]
    assert sorted(claim.id for claim in world.claim(session)) == sorted(functools.reduce(operator.iadd, rest, []))
    assert sorted(claim.id for claim in world.claim(other)) == sorted(avoided)


def test_the_attempt_after_that_may_be_anywhere(world: World, session: int) -> None:
    other = world.register("other")
    world.add()
    world.end(world.claim_one(session), Event.BACK_OFF, elsewhere=True)
    world.end(world.claim_one(other), Event.BACK_OFF)
    assert len(world.claim(session)) == 1
