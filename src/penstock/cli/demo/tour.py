"""The tour: one real worker on a real store, from the first enqueue to a measured burst."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

import typer

from penstock.app import App
from penstock.cli.demo.events import Events
from penstock.cli.demo.screen import screen
from penstock.cli.demo.shop import declare
from penstock.domain.job import FINAL
from penstock.store.params import Count

LOOK_SECONDS = 0.1
TOUR_SECONDS_MAX = 15.0
BURST_JOBS = 2_000
BURST_SECONDS_MAX = 30.0


@dataclass(frozen=True)
class Burst:
    """What the burst of empty jobs took: storing them, and until the last was stored as completed."""

    jobs: int
    enqueue_seconds: float
    total_seconds: float
    completed: int


class Tour:
    """`run()` answers whether it came to its end; Ctrl-C ends it early and in order."""

    def __init__(self, folder: str) -> None:
        self.app = App(f"sqlite:///{folder}/jobs.db")
        self.shop = declare(self.app)
        self.burst: Burst | None = None

    async def run(self) -> bool:
        typer.echo(f"store: {self.app.store.info.address}")
        await self.app.aenqueue_many(self.shop.calls)
        typer.echo(f"stored {len(self.shop.calls)} jobs in one transaction; starting a worker")
        worker = asyncio.create_task(self.app.run_worker(concurrency=20))
        try:
            return await self._watch(worker) and await self._burst(worker)
        finally:
            worker.cancel()
            await asyncio.wait({worker})

    async def _watch(self, worker: asyncio.Task[None]) -> bool:
        events = Events(self.app.store)
        ends = time.monotonic() + TOUR_SECONDS_MAX
        with screen() as shown:
            while time.monotonic() < ends:
                # Read before the news, so that what ends in between is told in the next round.
                counts = await self.app.store.count_jobs()
                shown.update(counts, await events.news())
                if worker.done():
                    return _stopped(worker)
                if _unfinished(counts) == 0:
                    break
                await asyncio.sleep(LOOK_SECONDS)
        return True

    async def _burst(self, worker: asyncio.Task[None]) -> bool:
        typer.echo(f"and now {BURST_JOBS:,} empty jobs, to see how fast it goes …")
        before = await self._completed()
        began = time.perf_counter()
        await self.app.aenqueue_many(self.shop.noop.bind() for _ in range(BURST_JOBS))
        enqueued = time.perf_counter()
        completed = 0
        while completed < BURST_JOBS and time.perf_counter() - began < BURST_SECONDS_MAX:
            if worker.done():
                return _stopped(worker)
            await asyncio.sleep(0.01)
            completed = await self._completed() - before
        self.burst = Burst(BURST_JOBS, enqueued - began, time.perf_counter() - began, completed)
        return True

    async def _completed(self) -> int:
        return sum(count.jobs for count in await self.app.store.count_jobs() if count.state == "completed")


def _unfinished(counts: list[Count]) -> int:
    return sum(count.jobs for count in counts if count.state not in FINAL)


def _stopped(worker: asyncio.Task[None]) -> bool:
    """The worker ends early when it is interrupted, or by an error, which is raised here."""
    worker.result()
    return False
