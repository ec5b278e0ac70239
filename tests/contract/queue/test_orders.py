"""What a worker is told through the store: to drain, and how many slots it has (L5)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from penstock.domain.errors import ConfigError, UnknownWorker
from penstock.store import contract as p
from penstock.store.contract import Listener
from tests.contract.conftest import CarryOut, OpenAgain
from tests.contract.queue.test_listen import NEVER_POLL, heard_after, register_with_bell
from tests.contract.world import STALE_AFTER, World

Order = Callable[[World, str], object]


def drain(world: World, worker_id: str) -> bool:
    return world.store.drain_worker(p.DrainWorker(worker_id)).wait()


def resize(world: World, worker_id: str, slots: int = 3) -> int:
    return world.store.resize_worker(p.ResizeWorker(worker_id, slots)).wait()


def told(world: World, session: int) -> tuple[str | None, int | None]:
    signals = world.store.read_signals(p.ReadSignals(session, [])).wait()
    return signals.status, signals.slots


def test_a_worker_that_is_told_to_drain_hears_of_it_and_gets_nothing_more(
    world: World, open_again: OpenAgain, carry_out: CarryOut
) -> None:
    session = world.register("one")
    world.add_many(2)
    (claim,) = world.claim(session, 1)
    assert carry_out(open_again().store.drain_worker(p.DrainWorker("one"))) is True
    assert told(world, session) == ("draining", 10)
    assert world.claim(session) == []
    assert world.complete(claim) == [], "what it has it may finish"
    assert len(world.claim(world.register("two"))) == 1


def test_a_heartbeat_does_not_undo_it(world: World) -> None:
    session = world.register("one")
    drain(world, "one")
    assert world.heartbeat(session, "active")
    assert told(world, session) == ("draining", 10)
    assert world.heartbeat(session, "inactive")
    assert told(world, session) == ("inactive", 10)


def test_draining_twice_says_so(world: World) -> None:
    world.register("one")
    assert (drain(world, "one"), drain(world, "one")) == (True, False)


def test_only_the_named_worker_is_told(world: World) -> None:
    one, two = world.register("one"), world.register("two")
    drain(world, "one")
    resize(world, "two", 7)
    assert (told(world, one), told(world, two)) == (("draining", 10), ("active", 7))


def test_a_resized_worker_hears_of_it_and_is_listed_with_its_new_slots(world: World, carry_out: CarryOut) -> None:
    session = world.register("one")
    assert carry_out(world.store.resize_worker(p.ResizeWorker("one", 3))) == 10
    assert told(world, session) == ("active", 3)
    (listed,) = world.store.list_workers().wait()
    assert listed.slots == 3
    assert resize(world, "one", 4) == 3


def test_a_coordinator_has_no_slots_to_change(world: World) -> None:
    session = world.register("one", slots=0, types=())
    with pytest.raises(UnknownWorker, match="'one' is a coordinator: it runs no jobs, so it has no slots"):
        resize(world, "one", 4)
    assert told(world, session) == ("active", 0)
    assert drain(world, "one")


def test_the_newest_worker_of_an_id_is_told(world: World) -> None:
    world.heartbeat(world.register("one"), "inactive")
    session = world.register("one")
    drain(world, "one")
    assert told(world, session) == ("draining", 10)


@pytest.mark.parametrize("slots", [0, -1, 10_001])
def test_slots_that_no_worker_can_have_are_refused(world: World, slots: int) -> None:
    session = world.register("one")
    with pytest.raises(ConfigError, match=rf"slots={slots} is not possible: a whole number from 1 to 10000"):
        resize(world, "one", slots)
    assert told(world, session) == ("active", 10)


@pytest.mark.parametrize("order", [drain, resize])
def test_nobody_of_that_id_is_an_error_that_names_those_alive(world: World, order: Order) -> None:
    with pytest.raises(UnknownWorker, match="no worker has the id 'eno' in this store; no worker is alive"):
        order(world, "eno")
    world.register("two")
    world.register("one")
    with pytest.raises(UnknownWorker, match="no worker has the id 'eno' in this store; alive are: one, two"):
        order(world, "eno")


@pytest.mark.parametrize("order", [drain, resize])
def test_a_worker_that_is_gone_is_an_error_that_says_how(world: World, order: Order) -> None:
    world.heartbeat(world.register("ended"), "inactive")
    with pytest.raises(UnknownWorker, match="the worker 'ended' has ended"):
        order(world, "ended")
    world.register("silent")
    world.clock.advance(STALE_AFTER + 1)
    with pytest.raises(UnknownWorker, match="'silent' was last heard of 31s ago, so it may be dead"):
        order(world, "silent")
    world.recover()
    with pytest.raises(UnknownWorker, match="the worker 'silent' was lost"):
        order(world, "silent")


@pytest.mark.parametrize("order", [drain, resize])
def test_an_order_wakes_the_worker(world: World, open_again: OpenAgain, order: Order) -> None:
    other = open_again()
    other.add()
    world.clock.advance(1.0)  # Who listens is looked up anew now and then.

    async def act(listener: Listener) -> None:
        await asyncio.to_thread(register_with_bell, world, listener)
        await asyncio.to_thread(order, other, "waiting")

    assert asyncio.run(heard_after(world, NEVER_POLL, act))


@pytest.mark.parametrize("order", [drain, resize])
def test_polling_finds_an_order_whose_ring_is_lost(world: World, order: Order) -> None:
    world.register("one")

    async def main() -> bool:
        listener = world.store.listen(0.01)
        try:
            await listener.wait(0.05)
            await asyncio.to_thread(order, world, "one")
            return await listener.wait(10)
        finally:
            listener.close()

    assert asyncio.run(main())
