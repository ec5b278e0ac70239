"""The virtual loop: time that jumps, an order that is drawn, and clear words when nothing can go on."""

from __future__ import annotations

import asyncio
import time
from random import Random

import pytest

from tests.simulation.loop import Deadlock, Standstill, Time, VirtualLoop, run_alone


def test_hours_pass_in_no_time() -> None:
    async def main() -> float:
        await asyncio.sleep(3600)
        async with asyncio.timeout(7200):
            await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    begun = time.monotonic()
    assert run_alone(main()) == 7200
    assert time.monotonic() - begun < 60


def test_a_timeout_comes_at_its_moment() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1.5):
                await asyncio.get_running_loop().create_future()
        return asyncio.get_running_loop().time()

    assert run_alone(main()) == 1.5


def test_callbacks_of_one_process_keep_their_order() -> None:
    async def main() -> list[int]:
        seen: list[int] = []
        for number in range(50):
            asyncio.get_running_loop().call_soon(seen.append, number)
        await asyncio.sleep(0.1)
        return seen

    assert run_alone(main()) == list(range(50))


def interleaved(seed: int) -> str:
    """Who had the turn, when three processes each do ten things one after another."""
    moment = Time(Random(seed))
    seen: list[str] = []

    def go_on(loop: VirtualLoop, left: int) -> None:
        seen.append(loop.name)
        if left > 1:
            loop.call_soon(go_on, loop, left - 1)

    for name in "abc":
        loop = VirtualLoop(moment, name)
        loop.call_soon(go_on, loop, 10)
    moment.run(lambda: len(seen) == 30)
    return "".join(seen)


def test_whose_turn_it_is_comes_from_the_seed() -> None:
    assert interleaved(1) == interleaved(1)
    assert len({interleaved(seed) for seed in range(10)}) == 10


def test_a_deadlock_names_who_waits() -> None:
    async def waits_for_nothing() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(Deadlock, match=r"no timer is set at 0\.0+ s; tasks:\n  alone: .*waits_for_nothing"):
        run_alone(waits_for_nothing())


def test_time_that_never_passes_is_an_error() -> None:
    async def spins() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Standstill, match="time does not pass"):
        run_alone(spins())


def test_threads_are_refused_loudly() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="was to be run in a thread"):
            await asyncio.to_thread(print)

    run_alone(main())
    loop = VirtualLoop(Time(Random(0)), "alone")
    loop._thread += 1
    with pytest.raises(RuntimeError, match="a thread called back into <the loop of alone>"):
        loop.call_soon_threadsafe(print)


def test_what_nobody_catches_is_told() -> None:
    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    with pytest.raises(AssertionError, match="division by zero"):
        run_alone(main())


class Diary:
    """A process that notes the moment of each tick by its own clock, and of true time."""

    def __init__(self) -> None:
        self.time = Time(Random(0))
        self.world = VirtualLoop(self.time, "world")
        self.loop = VirtualLoop(self.time, "process")
        self.ticks: list[tuple[float, float]] = []
        self._ticking = self.loop.create_task(self._tick())

    async def _tick(self) -> None:
        for _ in range(4):
            await asyncio.sleep(1)
            self.ticks.append((self.loop.time(), self.time.now))

    def run(self) -> None:
        self.time.run(lambda: len(self.ticks) == 4)


def test_a_paused_process_does_afterwards_what_became_due() -> None:
    diary = Diary()
    diary.world.call_at(1.5, setattr, diary.loop, "frozen", True)
    diary.world.call_at(4.5, diary.loop.wake_up)
    diary.run()
    assert diary.ticks == [(1, 1), (4.5, 4.5), (5.5, 5.5), (6.5, 6.5)]


def test_a_sleeping_machine_loses_time() -> None:
    diary = Diary()
    diary.world.call_at(1.5, diary.loop.fall_asleep)
    diary.world.call_at(4.5, diary.loop.wake_up)
    diary.run()
    assert diary.ticks == [(1, 1), (2, 5), (3, 6), (4, 7)]
