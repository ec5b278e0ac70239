"""What is kept of ended jobs, for how long, and how many."""

from __future__ import annotations

import pytest

from penstock.domain.job import Event, State
from penstock.domain.options import Unique
from tests.contract.world import World


def ended(world: World, session: int, event: Event, keep: bool | int, type: str = "task") -> str:
    job_id = world.add(type=type)
    (claim,) = world.claim(session, types=(type,))
    if event is Event.COMPLETE:
        world.complete(claim, keep=keep)
    else:
        world.end(claim, event, keep=keep)
    world.clock.advance(0.001)
    return job_id


@pytest.mark.parametrize("event", [Event.COMPLETE, Event.FAIL, Event.CANCEL])
def test_kept_or_removed_at_once(world: World, session: int, event: Event) -> None:
    kept = ended(world, session, event, keep=True)
    removed = ended(world, session, event, keep=False)
    assert world.list_ids() == [kept]
    assert world.events(removed) == []


@pytest.mark.parametrize("event", [Event.BACK_OFF, Event.RELEASE])
def test_a_job_that_goes_on_is_never_removed(world: World, session: int, event: Event) -> None:
    job_id = ended(world, session, event, keep=False)
    assert world.state(job_id) is State.PENDING


@pytest.mark.parametrize("event", [Event.COMPLETE, Event.FAIL])
def test_the_last_n_of_a_type_are_kept(world: World, session: int, event: Event) -> None:
    ids = [ended(world, session, event, keep=2) for _ in range(5)]
    others = [ended(world, session, event, keep=2, type="other") for _ in range(2)]
    unlimited = ended(world, session, event, keep=True)
    assert world.prune() == 3
    assert sorted(world.list_ids()) == sorted([*ids[3:], *others, unlimited])
    assert world.prune() == 0


def test_completed_and_failed_are_counted_apart(world: World, session: int) -> None:
    kept = [ended(world, session, event, keep=1) for event in (Event.COMPLETE, Event.FAIL)]
    assert world.prune() == 0
    assert sorted(world.list_ids()) == kept


def test_each_state_has_its_own_age(world: World, session: int) -> None:
    completed, dead, cancelled = (ended(world, session, e, True) for e in (Event.COMPLETE, Event.FAIL, Event.CANCEL))
    expired = world.add(ttl=1.0)
    world.clock.advance(10)
    world.claim(session)
    world.clock.advance(100)
    assert world.prune(completed_after=1000, cancelled_after=1000, dead_after=1000) == 0
    assert world.prune(completed_after=50) == 1
    assert world.find(completed) is None
    assert world.prune(cancelled_after=50) == 1
    assert world.find(cancelled) is None
    assert world.prune(dead_after=None) == 0
    assert world.prune(dead_after=50) == 2
    assert (world.find(dead), world.find(expired)) == (None, None)


def test_a_job_that_has_not_ended_is_never_touched(world: World, session: int) -> None:
    claimed, running = world.add_many(2)
    world.start(world.claim(session)[1])
    pending, scheduled = world.add(), world.add(delay=1e6)
    world.clock.advance(1e5)
    assert world.prune(completed_after=0, cancelled_after=0, dead_after=0) == 0
    assert sorted(world.list_ids()) == sorted([claimed, running, pending, scheduled])


def test_at_most_limit_a_call(world: World, session: int) -> None:
    for _ in range(5):
        ended(world, session, Event.COMPLETE, True)
        ended(world, session, Event.COMPLETE, 1, type="counted")
    world.clock.advance(100)
    removed = [world.prune(completed_after=1, limit=3) for _ in range(5)]
    assert removed == [3, 3, 3, 1, 0]
    assert world.list_ids() == []


def test_old_workers_and_keys_go_with_the_jobs(world: World, session: int) -> None:
    world.add(unique=Unique("key"))
    world.complete(world.claim_one(session))
    gone = world.register("gone")
    world.heartbeat(gone, "inactive")
    world.clock.advance(100)
    world.heartbeat(session)
    assert world.prune(completed_after=50) == 1
    assert [worker.id for worker in world.store.list_workers().wait()] == ["worker"]
    assert world.enqueue(world.new_job(unique=Unique("key")))[0].created
