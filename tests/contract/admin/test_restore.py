"""A backup that is restored under workers that live on: what they are and hold is of a time unknown to the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.domain.errors import PenstockError, WorkerRefused
from penstock.domain.job import State
from tests.contract.conftest import OpenAgain
from tests.contract.engines import Engine
from tests.contract.world import NOT_STORABLE_AT, World

Save = Callable[[], Callable[[], None]]


@pytest.fixture
def save(engine: Engine, address: str, tmp_path: Path) -> Save:
    """Makes a backup; what it answers restores it."""
    return lambda: engine.save(address, tmp_path)


def test_no_session_is_given_twice_after_a_restore(world: World, open_again: OpenAgain, save: Save) -> None:
    other = open_again()
    world.add()
    restore = save()
    session = world.register("one")
    world.clock.advance(5)
    restore()
    assert other.register("two") != session
    with pytest.raises(WorkerRefused, match="register again"):
        world.claim(session)
    assert not world.heartbeat(session)
    assert len(world.claim(world.register("one"))) == 1


def test_workers_that_register_in_the_same_second_get_sessions_of_their_own(world: World) -> None:
    sessions = [world.register(f"worker{number}") for number in range(3)]
    world.clock.advance(-60)
    sessions.append(world.register("after the clock was set back"))
    assert len(set(sessions)) == 4
    assert all(world.heartbeat(session) for session in sessions)


def test_jobs_that_were_running_when_the_backup_was_made_run_again(world: World, session: int, save: Save) -> None:
    """The worker that had them is alive, and long done with them."""
    job_id = world.add()
    (claim,) = world.claim(session)
    world.start(claim)
    restore = save()
    world.complete(claim)
    world.add(type="later")
    world.clock.advance(10)
    assert world.heartbeat(session)
    restore()
    assert world.state(job_id) is State.RUNNING
    fresh = world.add(type="fresh")
    with pytest.raises((PenstockError, OverflowError)):
        world.add(at=NOT_STORABLE_AT)
    assert not world.heartbeat(session)
    session = world.register()
    assert world.heartbeat(session)
    assert world.heartbeat(session)
    assert world.recover().jobs == [job_id]
    world.clock.advance(60)
    assert sorted(claim.id for claim in world.claim(session)) == sorted([fresh, job_id])


def test_a_worker_that_stops_in_order_after_a_restore_leaves_nothing_in_its_name(
    world: World, session: int, save: Save
) -> None:
    job_id = world.add()
    world.start(*world.claim(session))
    restore = save()
    world.clock.advance(10)
    assert world.heartbeat(session)
    restore()
    assert not world.heartbeat(session, "inactive")
    assert statuses(world) == ["inactive"]
    assert world.recover().jobs == [job_id]


def statuses(world: World) -> list[str]:
    return [worker.status for worker in world.store.list_workers().wait()]


@pytest.mark.parametrize("seconds", [10, 3600])
@pytest.mark.parametrize("first", ["heartbeat", "recovery and heartbeat", "recovery and claim"])
def test_a_worker_that_lives_on_after_a_restore_is_not_told_as_lost(
    world: World, open_again: OpenAgain, session: int, save: Save, first: str, seconds: int
) -> None:
    """What the backup knows of it is of the past: that session has ended, and its jobs run again."""
    other = open_again()
    job_id = world.add()
    world.start(*world.claim(session))
    restore = save()
    for _ in range(2):
        world.clock.advance(seconds)
        assert world.heartbeat(session)
        restore()
        recovered = other.recover().jobs if "recovery" in first else []
        if "claim" not in first or not recovered:
            assert not world.heartbeat(session)
        with pytest.raises(WorkerRefused):
            world.claim(session)
        session = world.register()
        assert statuses(world) == ["active", "inactive"]
        assert [*recovered, *other.recover().jobs] == [job_id]
        assert statuses(world) == ["active", "inactive"]


def test_a_worker_that_was_silent_for_too_long_is_told_as_lost_also_when_it_is_back(
    world: World, open_again: OpenAgain, session: int
) -> None:
    world.clock.advance(3600)
    open_again().recover()
    assert not world.heartbeat(session)
    world.register()
    assert statuses(world) == ["active", "lost"]


@pytest.mark.parametrize("step", [-3600, 3600])
def test_a_clock_that_is_set_makes_no_worker_unknown(world: World, session: int, step: int) -> None:
    for seconds in (10, step, 10, 0, -step):
        world.clock.advance(seconds)
        assert world.heartbeat(session)
