"""Jobs whose time-to-live is over read as expired, whether or not somebody was there to move them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event, State
from penstock.domain.options import NO_RESOURCES, Tenant, Unique
from penstock.store import contract as p
from tests.contract.world import World, plain, policy_text

TTL = 5.0


def states(world: World, **fields: Any) -> dict[State, int]:
    found: dict[State, int] = {}
    for count in world.store.count_jobs(p.CountJobs(**fields)).wait():
        assert count.jobs > 0
        found[count.state] = found.get(count.state, 0) + count.jobs
    return found


def blocked(world: World, session: int) -> str:
    """A job with a time-to-live that waits before a full gate."""
    gate = Gate("key:a", 1, None, "key:a")
    first, second = (msgspec.structs.replace(world.new_job(ttl=ttl), gates=(gate,)) for ttl in (None, TTL))
    world.enqueue(first, second)
    assert world.claim_one(session).id == first.id
    assert world.state(second.id) is State.BLOCKED
    return second.id


def test_it_reads_as_it_will_once_it_was_moved(world: World) -> None:
    job = world.add(ttl=TTL)
    world.clock.advance(TTL - 0.001)
    assert world.state(job) is State.PENDING
    world.clock.advance(0.001)
    before = world.read(job)
    assert (before.state, before.decided_by, before.attempt) == (State.EXPIRED, "ttl", 0)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert world.read(job) == before


def test_one_that_became_due_while_nobody_was_there_does_too(world: World) -> None:
    job = world.add(ttl=TTL, delay=2.0)
    world.clock.advance(TTL)
    assert world.state(job) is State.PENDING
    world.clock.advance(2.0)
    assert world.state(job) is State.EXPIRED


def test_one_that_is_blocked_does_too(world: World, session: int) -> None:
    job = blocked(world, session)
    world.clock.advance(TTL)
    found = world.read(job)
    assert (found.state, found.reason) == (State.EXPIRED, "waited in the queue for longer than its time-to-live")
    assert world.list_ids(states=frozenset({State.BLOCKED})) == []
    assert world.list_ids(states=frozenset({State.EXPIRED})) == [job]
    assert states(world) == {State.CLAIMED: 1, State.EXPIRED: 1}


def test_one_that_was_begun_in_time_runs_on(world: World, session: int) -> None:
    world.add(ttl=TTL)
    claim = world.claim_one(session)
    world.clock.advance(TTL)
    assert world.state(claim.id) is State.CLAIMED
    world.complete(claim)
    assert world.state(claim.id) is State.COMPLETED


@pytest.mark.parametrize("event", [Event.RELEASE, Event.BACK_OFF])
def test_one_that_was_begun_and_came_back_does_not_expire(world: World, session: int, event: Event) -> None:
    job = world.add(ttl=TTL)
    claim = world.claim_one(session)
    world.clock.advance(0.001)
    world.end(claim, event)
    world.clock.advance(10 * TTL)
    assert world.state(job) is State.PENDING
    assert states(world) == {State.PENDING: 1}
    assert [claim.id for claim in world.claim(session)] == [job]


def test_lists_and_counts_agree_with_it(world: World) -> None:
    acme = Tenant("acme")
    overdue = [world.add(ttl=TTL, tenant=acme), world.add(ttl=TTL, delay=1.0, tenant=acme), world.add(ttl=TTL)]
    waiting = [world.add(), world.add(tenant=acme), world.add(ttl=60.0)]
    world.clock.advance(TTL + 1)
    assert sorted(world.list_ids(states=frozenset({State.EXPIRED}))) == sorted(overdue)
    assert sorted(world.list_ids(states=frozenset({State.PENDING}))) == sorted(waiting)
    both = frozenset({State.PENDING, State.EXPIRED})
    assert sorted(world.list_ids(states=both)) == sorted(overdue + waiting)
    assert world.list_ids(states=both, limit=2) == world.list_ids()[:2]
    listed = world.store.list_jobs(p.ListJobs(limit=10)).wait()
    assert {job.id for job in listed if job.state is State.EXPIRED} == set(overdue)
    assert states(world) == {State.PENDING: 3, State.EXPIRED: 3}
    assert states(world, tenant="acme") == {State.PENDING: 1, State.EXPIRED: 2}
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert states(world) == {State.PENDING: 3, State.EXPIRED: 3}
    assert states(world, tenant="acme") == {State.PENDING: 1, State.EXPIRED: 2}


def test_a_state_that_none_is_in_any_more_is_not_counted(world: World) -> None:
    world.add(ttl=TTL)
    world.clock.advance(TTL)
    assert states(world) == {State.EXPIRED: 1}


def test_it_cannot_be_cancelled_any_more(world: World) -> None:
    job, late = world.add(ttl=TTL), world.add(ttl=TTL, delay=1.0)
    world.clock.advance(TTL + 1)
    for one in (job, late):
        assert plain(world.cancel(one)) == p.Cancelled(State.EXPIRED, State.EXPIRED)
        assert (world.state(one), world.read(one).decided_by) == (State.EXPIRED, "ttl")


def test_the_fraction_of_a_second_counts(world: World) -> None:
    job = world.add(ttl=0.123457, policy=policy_text(ttl=0.123457))
    world.clock.advance(0.123456)
    assert world.state(job) is State.PENDING
    world.clock.advance(0.000001)
    assert world.state(job) is State.EXPIRED


@pytest.mark.parametrize("delay", [0.0, 2.0])
def test_it_holds_its_unique_key_no_longer(world: World, session: int, delay: float) -> None:
    """Or the next one would be told of a job that never runs."""
    old = world.add(ttl=TTL, delay=delay, unique=Unique("key"))
    world.clock.advance(TTL + delay)
    new = world.new_job(unique=Unique("key"))
    assert [plain(one) for one in world.enqueue(new)] == [p.Enqueued(new.id, True)]
    assert [claim.id for claim in world.claim(session)] == [new.id]
    assert world.state(old) is State.EXPIRED
    assert world.enqueue(world.new_job(unique=Unique("key"))) == [p.Enqueued(new.id, False)]


def test_one_that_is_blocked_holds_its_unique_key_no_longer(world: World, session: int) -> None:
    gate = Gate("key:a", 1, None, "key:a")
    first, second = (
        msgspec.structs.replace(world.new_job(ttl=ttl, unique=unique), gates=(gate,))
        for ttl, unique in ((None, None), (TTL, Unique("key")))
    )
    world.enqueue(first, second)
    assert world.claim_one(session).id == first.id
    world.clock.advance(TTL)
    new = world.new_job(unique=Unique("key"))
    assert [plain(one) for one in world.enqueue(new)] == [p.Enqueued(new.id, True)]
    assert world.state(second.id) is State.EXPIRED


def test_a_key_for_a_period_is_held_to_its_end(world: World) -> None:
    old = world.add(ttl=TTL, unique=Unique("key", per=60.0))
    world.clock.advance(TTL)
    assert world.enqueue(world.new_job(unique=Unique("key"))) == [p.Enqueued(old, False)]


def test_it_can_be_retried_and_purged_as_a_dead_letter(world: World) -> None:
    old, other = world.add(ttl=TTL), world.add(ttl=TTL)
    world.clock.advance(TTL)
    new_id = world.new_id()
    again = p.RetryDead(filter=p.DeadFilter(ids=(old,)), new_ids=[new_id])
    assert world.store.retry_dead(again).wait().pairs == [(old, new_id)]
    assert world.store.purge_dead(p.PurgeDead(filter=p.DeadFilter(ids=(other,)))).wait().jobs == 1
    assert world.find(other) is None


def test_it_is_neither_raised_nor_failed_for_want_of_a_worker(world: World) -> None:
    job = world.add(ttl=TTL)
    world.clock.advance(60)
    world.store.age_jobs(p.AgeJobs(1.0)).wait()
    lane = p.FailUnroutable(
        type="task", queue="default", capability="general", resources=NO_RESOURCES, reason="no workers available"
    )
    assert world.store.fail_unroutable(lane).wait().ids == []
    found = world.read(job)
    assert (found.state, found.priority) == (State.EXPIRED, 0)
