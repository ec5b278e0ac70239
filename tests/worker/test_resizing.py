"""Slots that change while the worker runs: of every kind of handler, with more and with fewer (L5)."""

from __future__ import annotations

import asyncio
import logging
import threading
from pathlib import Path

import pytest

from penstock import App, State
from penstock.store import contract as p
from tests.worker import process_jobs
from tests.worker.running import beside_worker, until, until_state


async def resize(app: App, slots: int) -> None:
    async with asyncio.timeout(30):
        while not (workers := [one for one in await app.store.list_workers() if one.live]):
            await asyncio.sleep(0.005)
    await app.store.resize_worker(p.ResizeWorker(workers[0].id, slots))


def test_calls_of_a_batch_handler(app: App) -> None:
    """Two items a call: with one slot one call runs at once, with four slots two."""
    calls: list[list[int]] = []
    gate = asyncio.Event()

    @app.batch_job(size=2, wait="1ms")
    async def double(items: list[int]) -> list[int]:
        calls.append(items)
        await gate.wait()
        return [2 * item for item in items]

    async def story() -> None:
        jobs = await app.aenqueue_many(double.bind(number) for number in range(8))
        await until(lambda: len(calls) == 1, "the first call")
        await resize(app, 4)
        await until(lambda: len(calls) == 2, "two calls at once")
        await resize(app, 2)
        gate.set()
        assert [await job.aresult(timeout=30) for job in jobs] == [0, 2, 4, 6, 8, 10, 12, 14]

    beside_worker(app, story, concurrency=1)


def test_what_was_claimed_ahead_goes_back_when_there_are_fewer_slots(app: App) -> None:
    """A pace of quick jobs makes the worker claim ahead; then two that take long fill its slots."""
    gate = asyncio.Event()
    begun: list[int] = []

    @app.job
    async def quick() -> None: ...

    @app.job
    async def slow() -> None:
        begun.append(1)
        await gate.wait()

    async def count(state: State) -> int:
        return sum(one.jobs for one in await app.store.count_jobs() if one.state is state and one.type == "quick")

    async def story() -> None:
        await app.aenqueue_many([*[quick.bind()] * 3000, *[slow.bind()] * 2, *[quick.bind()] * 3000])
        await until(lambda: len(begun) == 2, "both slots are taken")
        async with asyncio.timeout(30):
            while not await count(State.CLAIMED):
                await asyncio.sleep(0.005)
        await resize(app, 1)
        async with asyncio.timeout(30):
            while await count(State.CLAIMED):
                await asyncio.sleep(0.005)
        assert await count(State.PENDING) == 3000
        gate.set()
        async with asyncio.timeout(30):
            while await count(State.COMPLETED) < 6000:
                await asyncio.sleep(0.01)

    beside_worker(app, story, concurrency=2)


def test_of_process_handlers_no_more_run_than_there_are_slots(
    process_app: App, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    gate = tmp_path / "gate"

    async def story() -> None:
        await resize(process_app, 1)
        await until(lambda: "resized from 2 to 1 slots" in caplog.text, "the worker has heard of it")
        first = await process_jobs.wait_for.aenqueue(str(gate))
        await until_state(first, State.RUNNING)
        second = await process_jobs.wait_for.aenqueue(str(gate))
        await resize(process_app, 3)
        await until_state(second, State.RUNNING)
        gate.touch()
        for job in (first, second):
            await job.aresult(timeout=30)

    beside_worker(process_app, story, concurrency=2, process_slots=2)


def test_a_thread_that_was_given_up_is_still_replaced_after_a_resize(app: App) -> None:
    gate = threading.Event()

    @app.job(timeout="50ms", attempts=1)
    def stuck() -> None:
        gate.wait(30)

    @app.job
    def fine() -> str:
        return "fine"

    async def story() -> None:
        await resize(app, 2)
        jobs = [await stuck.aenqueue() for _ in range(2)]
        for job in jobs:
            await until_state(job, State.DEAD)
        await resize(app, 1)
        assert await (await fine.aenqueue()).aresult(timeout=30) == "fine"
        gate.set()

    beside_worker(app, story, concurrency=1)
