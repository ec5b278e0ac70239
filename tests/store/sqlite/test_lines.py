"""Ordered keys: what they leave in the file, and what a long line costs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from penstock.domain.flow.gates import Gate
from penstock.domain.job import Event
from penstock.store import contract as p
from penstock.store.sqlite.store import SqliteStore
from tests.contract.clock import FakeClock
from tests.contract.world import World, policy_text
from tests.store.sqlite.conftest import MakeStore

LINE = Gate("key:line", 1, None, "key:line", True)


@pytest.fixture
def store(make_store: MakeStore, clock: FakeClock) -> SqliteStore:
    return make_store(clock=clock)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def world(store: SqliteStore, clock: FakeClock) -> World:
    return World(store, clock)


def new(world: World, gate: Gate = LINE, **fields: object) -> p.NewJob:
    return msgspec.structs.replace(world.new_job(**fields), gates=(gate,))


def tickets(store: SqliteStore) -> int:
    with store.transaction() as tx:
        return len(tx.execute("SELECT id FROM penstock_ticket"))


def test_nothing_is_left_of_jobs_that_have_ended_in_any_way(store: SqliteStore, world: World) -> None:
    session = world.register()
    jobs = [new(world) for _ in range(6)]
    jobs += [new(world, ttl=5.0, policy=policy_text(ttl=5.0)), new(world, delay=60.0), new(world, type="strange")]
    world.enqueue(*jobs)
    world.cancel(jobs[5].id)
    world.cancel(jobs[7].id)
    for end in (Event.FAIL, Event.CANCEL):
        world.end(world.claim(session, types=("task",))[0], end)
    for keep in (True, False, True):
        world.complete(*world.claim(session, types=("task",)), keep=keep)
    assert tickets(store) == 3, "the last that ran, the one that expires, and the one that nobody runs"
    world.clock.advance(6.0)
    world.heartbeat(session)
    world.store.expire_jobs(p.ExpireJobs()).wait()
    assert world.claim(session, types=("task",)) == []
    strange = p.FailUnroutable(
        type="strange", queue="default", capability="general", resources=jobs[0].spec.resources, reason="nobody"
    )
    assert world.store.fail_unroutable(strange).wait().ids == [jobs[8].id]
    world.store.tend_gates(p.TendGates()).wait()
    assert tickets(store) == 0


def test_a_ticket_of_a_removed_job_does_not_become_that_of_another(store: SqliteStore, world: World) -> None:
    """The number of the newest job is given again when that is removed."""
    session = world.register()
    world.enqueue(new(world))
    world.complete(*world.claim(session), keep=False)
    other = world.add(delay=3600.0)
    (line,) = world.enqueue(new(world))
    assert [claim.id for claim in world.claim(session)] == [line.id]
    assert world.find(other) is not None


def test_jobs_that_an_older_version_stored_pass_a_gate_that_is_made_again(store: SqliteStore, world: World) -> None:
    session = world.register()
    plain = msgspec.structs.replace(LINE, ordered=False)
    (first,), (second,) = (world.enqueue(new(world, plain)) for _ in range(2))
    with store.transaction() as tx:
        tx.execute('UPDATE penstock_job SET gates = \'[["key:line",1,null,"key:line"]]\'')
        tx.execute("DELETE FROM penstock_gate")
    (held,) = world.claim(session)
    assert (held.id, world.claim(session), held.gates) == (first.id, [], (plain,))
    world.complete(held)
    assert [claim.id for claim in world.claim(session)] == [second.id]


LONG = 3000


def steps_of(store: SqliteStore, act: Callable[[], object]) -> int:
    """Steps of SQLite's machine, which are the same each time."""
    steps = 0

    def step() -> bool:
        nonlocal steps
        steps += 1
        return False

    db = store._opened()[0].db
    db.set_progress_handler(step, 1)
    try:
        act()
    finally:
        db.set_progress_handler(None)
    return steps


def test_the_next_one_of_a_long_line_costs_what_it_costs_in_a_short_one(store: SqliteStore, world: World) -> None:
    session = world.register()

    def next_one() -> None:
        (claim,) = world.claim(session)
        world.complete(claim)

    world.enqueue(*(new(world) for _ in range(10)))
    next_one()
    few = steps_of(store, next_one)
    world.enqueue(*(new(world, priority=9) for _ in range(LONG)))
    assert steps_of(store, next_one) < few + LONG / 4  # There is one more lane now, and no step for each in the line.
    assert steps_of(store, lambda: world.enqueue(new(world))) < few + LONG


def test_a_bulk_takes_a_time_that_grows_with_it_and_not_with_its_square(store: SqliteStore, world: World) -> None:
    world.enqueue(*(new(world) for _ in range(100)))
    few = steps_of(store, lambda: world.enqueue(*(new(world) for _ in range(500))))
    many = steps_of(store, lambda: world.enqueue(*(new(world) for _ in range(5000))))
    assert many < 15 * few
