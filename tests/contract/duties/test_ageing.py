"""Jobs that have waited for long count as more urgent (R6)."""

from __future__ import annotations

import pytest

from penstock.domain.job import Event, State
from penstock.store import contract as p
from tests.contract.conftest import OpenAgain
from tests.contract.world import World

MINUTE = 60.0


def age(world: World, limit: int = 500) -> int:
    return world.store.age_jobs(p.AgeJobs(MINUTE, limit=limit)).wait().jobs


def taken(world: World, session: int, limit: int = 100) -> list[str]:
    return [claim.id for claim in world.claim(session, limit)]


def test_without_ageing_the_urgent_always_go_first(world: World, session: int) -> None:
    low = world.add(priority=-5)
    world.clock.advance(3600)
    urgent = world.add(priority=1)
    assert taken(world, session) == [urgent, low]


def test_a_job_has_at_least_the_priority_of_the_times_it_has_waited(world: World, session: int) -> None:
    low, zero, high = world.add(priority=-50), world.add(), world.add(priority=7)
    assert age(world) == 0
    world.clock.advance(MINUTE - 1)
    assert age(world) == 0
    world.clock.advance(1)
    assert age(world) == 2
    assert [world.read(job).priority for job in (low, zero, high)] == [1, 1, 7]
    assert age(world) == 0, "once for each time"
    world.clock.advance(8 * MINUTE)
    assert age(world) == 3
    assert [world.read(job).priority for job in (low, zero, high)] == [9, 9, 9]


def test_one_that_was_raised_is_claimed_in_its_new_turn(world: World, open_again: OpenAgain) -> None:
    other = open_again()
    session, second = world.register("one"), other.register("two")
    old = world.add(priority=-1)
    world.clock.advance(2 * MINUTE)
    fresh, urgent = world.add(priority=1), world.add(priority=3)
    assert taken(other, second, 0) == []  # It has seen the lanes as they were.
    assert age(world) == 1
    assert taken(other, second, 2) == [urgent, old]
    assert taken(world, session) == [fresh]


def test_the_priority_has_its_limit(world: World, session: int) -> None:
    job = world.add(priority=99)
    top = world.add(priority=100)
    world.clock.advance(1000 * MINUTE)
    assert age(world) == 1
    assert (world.read(job).priority, world.read(top).priority) == (100, 100)
    assert age(world) == 0
    assert taken(world, session) == [job, top]


def test_only_what_waits_and_is_due(world: World, session: int) -> None:
    held = world.add()
    world.claim_one(session)
    later = world.add(delay=10 * MINUTE)
    world.clock.advance(5 * MINUTE)
    assert age(world) == 0
    assert [world.read(job).priority for job in (held, later)] == [0, 0]


def test_a_page_at_a_time_the_oldest_first(world: World) -> None:
    newer = world.add_many(3, type="other")
    older = [world.add(at=world.clock.now_us() - 10_000_000) for _ in range(3)]
    world.clock.advance(2 * MINUTE)
    assert age(world, 3) == 3
    assert {world.read(job).priority for job in older} == {2}
    assert {world.read(job).priority for job in newer} == {0}
    assert age(world, 500) == 3
    assert age(world, 500) == 0


@pytest.mark.parametrize("event", [Event.BACK_OFF, Event.RELEASE])
def test_one_that_was_raised_goes_on_like_any_other(world: World, session: int, event: Event) -> None:
    job = world.add(ttl=3600.0)
    world.clock.advance(2 * MINUTE)
    age(world)
    world.end(world.claim_one(session), event)
    world.clock.advance(1)
    assert world.complete(world.claim_one(session)) == []
    assert world.state(job) is State.COMPLETED


def test_one_that_was_raised_can_be_cancelled_expire_and_fail_unroutable(world: World, session: int) -> None:
    cancelled, expired = world.add(), world.add(ttl=200.0)
    world.clock.advance(2 * MINUTE)
    assert age(world) == 2
    assert world.cancel(cancelled).after is State.CANCELLED
    world.clock.advance(2 * MINUTE)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert world.state(expired) is State.EXPIRED
    assert taken(world, session) == []
