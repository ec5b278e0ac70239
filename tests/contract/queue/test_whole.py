"""A key for a whole enqueue: while it is held, none of the jobs is stored, whatever became of those before."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from penstock.domain.errors import PenstockError
from penstock.domain.options import Unique
from penstock.store.contract import Enqueued, EnqueueJobs, NewJob, WholeKey
from tests.contract.conftest import OpenAgain
from tests.contract.world import NOT_STORABLE_AT, World

RIVALS = 12
KEY = WholeKey("spread resync", 60.0)


def enqueue(world: World, *jobs: NewJob, whole: WholeKey | None = KEY) -> list[Enqueued]:
    return world.store.enqueue_jobs(EnqueueJobs(jobs, whole=whole)).wait()


def test_the_first_stores_all_and_the_next_none(world: World, open_again: OpenAgain) -> None:
    first = [world.new_job(), world.new_job(type="other", priority=3)]
    assert enqueue(world, *first) == [Enqueued(job.id, True) for job in first]
    second = [world.new_job() for _ in range(3)]
    assert enqueue(open_again(), *second) == [Enqueued(first[0].id, False)] * 3
    assert sorted(world.list_ids()) == sorted(job.id for job in first)


def test_other_keys_and_plain_enqueues_are_not_concerned(world: World) -> None:
    enqueue(world, world.new_job())
    other, plain = world.new_job(), world.new_job()
    assert enqueue(world, other, whole=WholeKey("another", 60.0)) == [Enqueued(other.id, True)]
    assert enqueue(world, plain, whole=None) == [Enqueued(plain.id, True)]


def test_it_is_held_for_its_time_though_the_jobs_have_ended_and_are_gone(world: World, session: int) -> None:
    enqueue(world, world.new_job())
    world.complete(world.claim_one(session), keep=False)
    world.clock.advance(59)
    world.prune()
    assert not enqueue(world, world.new_job())[0].created
    world.clock.advance(2)
    assert enqueue(world, world.new_job())[0].created
    assert not enqueue(world, world.new_job())[0].created, "it is held anew"


def test_no_jobs_hold_no_key(world: World) -> None:
    assert enqueue(world) == []
    assert enqueue(world, world.new_job())[0].created


def test_the_key_is_not_taken_when_a_job_cannot_be_stored(world: World) -> None:
    with pytest.raises((PenstockError, OverflowError)):
        enqueue(world, world.new_job(), world.new_job(at=NOT_STORABLE_AT))
    assert world.list_ids() == []
    assert enqueue(world, world.new_job())[0].created


def test_unique_keys_of_the_jobs_count_as_always(world: World) -> None:
    held = world.add(unique=Unique("store:7"))
    new, same = world.new_job(unique=Unique("store:8")), world.new_job(unique=Unique("store:7"))
    assert enqueue(world, new, same) == [Enqueued(new.id, True), Enqueued(held, False)]


@pytest.mark.parametrize("commits", [True, False])
def test_in_a_transaction_the_key_is_taken_if_that_commits(world: World, commits: bool) -> None:
    job = world.new_job()
    try:
        with world.store.transaction() as tx:
            world.store.enqueue_jobs(EnqueueJobs([job], tx, KEY)).wait()
            if not commits:
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    assert enqueue(world, world.new_job())[0].created is not commits


def test_of_many_in_the_same_moment_one_stores(world: World, open_again: OpenAgain) -> None:
    worlds = [world, open_again(), open_again()]
    together = threading.Barrier(RIVALS)

    def ask(number: int) -> list[Enqueued]:
        mine = worlds[number % len(worlds)]
        jobs = [mine.new_job(delay=float(number)) for _ in range(5)]
        together.wait(30)
        return enqueue(mine, *jobs)

    with ThreadPoolExecutor(RIVALS) as pool:
        told = list(pool.map(ask, range(RIVALS)))
    created = [[one.created for one in answer] for answer in told]
    assert sorted(created) == [[False] * 5] * (RIVALS - 1) + [[True] * 5]
    assert len(world.list_ids()) == 5
