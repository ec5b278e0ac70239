"""Waiting workers are woken by new work of anyone; polling is the floor under lost hints."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from penstock.domain.job import Event
from penstock.store.contract import EnqueueJobs, Listener, ResizeWorker
from tests.contract.conftest import OpenAgain
from tests.contract.world import World

NEVER_POLL = 3600.0
PATIENCE_SECONDS = 10.0


async def heard_after(world: World, poll_interval: float, act: Callable[[Listener], Awaitable[object]]) -> bool:
    """Whether a listener that waits already is woken by what `act` does: its own time is over only much later."""
    listener = world.store.listen(poll_interval)
    try:
        await listener.wait(0.01)  # From now on it hears; what was before is news the first time.
        waiting = asyncio.create_task(listener.wait(NEVER_POLL))
        await asyncio.sleep(0)
        await act(listener)
        return await asyncio.wait_for(waiting, PATIENCE_SECONDS)
    finally:
        listener.close()


def register_with_bell(world: World, listener: Listener) -> int:
    return world.register("waiting", bell=listener.bell)


def test_a_bell_wakes_before_any_poll(world: World, open_again: OpenAgain) -> None:
    other = open_again()

    async def act(listener: Listener) -> None:
        await asyncio.to_thread(register_with_bell, world, listener)
        await asyncio.to_thread(other.add)

    assert asyncio.run(heard_after(world, NEVER_POLL, act))


def test_all_who_hear_a_hint_hear_the_same_number_and_each_hint_has_its_own(
    world: World, open_again: OpenAgain
) -> None:
    """By it they agree on who goes first."""
    other = open_again()

    async def main() -> list[tuple[int | None, int | None]]:
        listeners = [world.store.listen(NEVER_POLL) for _ in range(2)]
        heard: list[tuple[int | None, int | None]] = []
        try:
            for number, listener in enumerate(listeners):
                await asyncio.to_thread(world.register, f"waiting{number}", bell=listener.bell)
                await listener.wait(0.01)  # From now on it hears.
            for _ in range(2):
                waiting = [asyncio.create_task(listener.wait(NEVER_POLL)) for listener in listeners]
                await asyncio.sleep(0)
                world.clock.advance(1.0)
                await asyncio.to_thread(other.add)
                async with asyncio.timeout(PATIENCE_SECONDS):
                    assert [await one for one in waiting] == [True, True]
                heard.append((listeners[0].turn, listeners[1].turn))
        finally:
            for listener in listeners:
                listener.close()
        return heard

    first, second = asyncio.run(main())
    assert first[0] == first[1] is not None
    assert second[0] == second[1] is not None
    assert first != second


def test_a_job_that_is_returned_wakes(world: World, session: int) -> None:
    world.add()
    claim = world.claim_one(session)
    world.clock.advance(1.0)  # Who listens is looked up anew now and then.

    async def act(listener: Listener) -> None:
        await asyncio.to_thread(register_with_bell, world, listener)
        await asyncio.to_thread(world.end, claim, Event.RELEASE)

    assert asyncio.run(heard_after(world, NEVER_POLL, act))


def test_a_committed_transaction_wakes(world: World) -> None:
    def commit() -> None:
        with world.store.transaction() as tx:
            world.store.enqueue_jobs(EnqueueJobs([world.new_job()], tx)).wait()

    async def act(listener: Listener) -> None:
        await asyncio.to_thread(register_with_bell, world, listener)
        await asyncio.to_thread(commit)

    assert asyncio.run(heard_after(world, NEVER_POLL, act))


def test_without_a_bell_the_poll_finds_it(world: World, open_again: OpenAgain) -> None:
    other = open_again()

    async def act(_: Listener) -> None:
        await asyncio.to_thread(other.add)

    assert asyncio.run(heard_after(world, 0.01, act))


def test_false_after_the_timeout(world: World) -> None:
    async def main() -> bool:
        listener = world.store.listen(0.01)
        try:
            await listener.wait(0.01)
            return await listener.wait(0.05)
        finally:
            listener.close()

    assert not asyncio.run(main())


def test_what_came_before_the_wait_is_not_missed(world: World) -> None:
    async def main() -> bool:
        listener = world.store.listen(0.01)
        try:
            await asyncio.to_thread(world.add)
            return await listener.wait(PATIENCE_SECONDS)
        finally:
            listener.close()

    assert asyncio.run(main())


def test_many_rings_in_a_row_reach_everyone(world: World) -> None:
    async def main() -> list[bool]:
        listeners = [world.store.listen(NEVER_POLL) for _ in range(3)]
        try:
            for number, listener in enumerate(listeners):
                await asyncio.to_thread(world.register, f"w{number}", bell=listener.bell)
            waiting = [asyncio.create_task(listener.wait(NEVER_POLL)) for listener in listeners]
            for _ in range(20):
                await asyncio.to_thread(world.add)
            return await asyncio.wait_for(asyncio.gather(*waiting), PATIENCE_SECONDS)
        finally:
            for listener in listeners:
                listener.close()

    assert asyncio.run(main()) == [True, True, True]


def test_a_listener_can_be_closed_after_its_store(open_again: OpenAgain) -> None:
    world = open_again()

    async def main() -> None:
        listener = world.store.listen(NEVER_POLL)
        world.store.close()
        listener.close()

    asyncio.run(main())


def test_listening_needs_a_running_loop(world: World) -> None:
    with pytest.raises(RuntimeError):
        world.store.listen(1.0)


def test_what_was_ordered_before_the_first_look_is_heard(world: World) -> None:
    """A worker may be told something between its registration and the moment when it begins to listen."""

    async def main() -> bool:
        listener = world.store.listen(NEVER_POLL)
        try:
            await asyncio.to_thread(world.register, "waiting", bell=listener.bell)
            await asyncio.to_thread(world.store.resize_worker(ResizeWorker("waiting", 2)).wait)
            return await listener.wait(PATIENCE_SECONDS)
        finally:
            listener.close()

    assert asyncio.run(main())
