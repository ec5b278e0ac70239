"""Pending jobs by what they ask for."""

from __future__ import annotations

import pytest

from penstock.domain.job import Event
from penstock.domain.options import NO_RESOURCES, Resources
from penstock.store import contract as p
from penstock.store.contract import CountWaiting, Waiting
from tests.contract.conftest import CarryOut, OpenAgain
from tests.contract.world import World


def waiting(world: World, limit: int = 10_000) -> list[Waiting]:
    return world.store.count_waiting(CountWaiting(limit)).wait()


def test_nothing_waits_in_a_new_store(world: World, carry_out: CarryOut) -> None:
    assert carry_out(world.store.count_waiting(CountWaiting())) == []


def test_a_lane_is_a_type_a_queue_a_capability_and_resources(world: World, open_again: OpenAgain) -> None:
    now = world.clock.now_us()
    needs = Resources(cpu=2, memory="1Gi")
    for fields in ({}, {}, {"queue": "q"}, {"capability": "ml"}, {"resources": needs}, {"type": "a"}):
        world.add(**fields)
    found = {(one.type, one.queue, one.capability, one.resources): one for one in waiting(open_again())}
    assert {lane: one.jobs for lane, one in found.items()} == {
        ("task", "default", "general", NO_RESOURCES): 2,
        ("task", "q", "general", NO_RESOURCES): 1,
        ("task", "default", "ml", NO_RESOURCES): 1,
        ("task", "default", "general", needs): 1,
        ("a", "default", "general", NO_RESOURCES): 1,
    }
    assert {one.oldest_due_at for one in found.values()} == {now}


def test_the_oldest_is_found_at_whatever_priority_it_waits(world: World) -> None:
    world.clock.advance(10)
    now = world.clock.now_us()
    for seconds, priority in ((3, 100), (5, 0), (9, -100), (1, 7)):
        world.add(at=now - seconds * 1_000_000, priority=priority)
    (lane,) = waiting(world)
    assert (lane.jobs, lane.oldest_due_at) == (4, now - 9_000_000)


def test_only_pending_jobs_wait(world: World, session: int) -> None:
    world.add_many(4)
    started, held, ended = world.claim(session, 3)
    world.start(started)
    world.complete(ended)
    world.cancel(world.add())
    world.add(delay=60)
    assert [one.jobs for one in waiting(world)] == [1]
    world.end(held, Event.RELEASE)
    assert [one.jobs for one in waiting(world)] == [2]


def test_a_scheduled_job_waits_from_its_moment_also_while_nobody_claims(world: World) -> None:
    world.add(delay=60)
    due_at = world.clock.now_us() + 60_000_000
    assert waiting(world) == []
    world.clock.advance(61)
    (lane,) = waiting(world)
    assert (lane.jobs, lane.oldest_due_at) == (1, due_at)
    world.add()
    (lane,) = waiting(world)
    assert (lane.jobs, lane.oldest_due_at) == (2, due_at)


@pytest.mark.parametrize("delay", [0, 1])
def test_counting_a_lane_stops_at_the_limit(world: World, delay: float) -> None:
    world.add_many(5, delay=delay)
    world.add(type="other")
    world.clock.advance(2)
    assert [(one.type, one.jobs) for one in waiting(world, limit=3)] == [("other", 1), ("task", 3)]


def test_dead_letters_are_counted_up_to_a_limit(world: World, session: int) -> None:
    dead = [world.add_dead(session) for _ in range(3)]
    world.add(ttl=1.0)
    world.clock.advance(2)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert [world.store.count_dead(p.CountDead(limit)).wait() for limit in (2, 4, 100)] == [2, 4, 4]
    again = p.RetryDead(filter=p.DeadFilter(ids=(dead[0],)), new_ids=[world.new_id()])
    world.store.retry_dead(again).wait()
    assert world.store.count_dead(p.CountDead()).wait() == 3
