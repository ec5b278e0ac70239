"""Counts what waits and runs, every so often, so that nobody else has to: pages, checks and scrapes read the sample.

Counting costs what there is to count. So it rests for fifty times as long as it took, and what has ended, which may be
far more and changes slowly, is counted apart from the rest and less often.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from penstock.coordinator.settings import CoordinatorSettings
from penstock.domain.flow.pauses import Pauses
from penstock.observe.figures.capacity import takers_of
from penstock.store.contract import Ended, Gauge, Store, StoreSample, WorkerInfo

REST_FACTOR = 50
"""A fiftieth of the time is spent on counting, at most."""
ENDED_SECONDS = 60.0
HISTORY_SECONDS = 60.0


class Sampling:
    name = "count what waits"
    judges = False
    makes_work = False

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self.interval = settings.sample_interval
        self._ended_at = self._kept_at = 0.0
        """When, by the loop's clock, it is time again to count what has ended, and to keep the depth."""

    async def do(self, term: int) -> float:
        clock = asyncio.get_running_loop()
        began = clock.time()
        counted = await self._store.count_gauges()
        took = clock.time() - began
        keeps = began >= self._kept_at
        ended = await self._count_ended() if began >= self._ended_at else None
        gauges = await self._with_workers(counted.gauges)
        await self._store.store_sample(StoreSample(counted.at, took, gauges, ended, term, history=keeps))
        if keeps:
            self._kept_at = began + HISTORY_SECONDS
        return max(self.interval, REST_FACTOR * took)

    async def _count_ended(self) -> Ended:
        clock = asyncio.get_running_loop()
        began = clock.time()
        ended = await self._store.count_ended()
        self._ended_at = began + max(ENDED_SECONDS, REST_FACTOR * (clock.time() - began))
        return ended

    async def _with_workers(self, gauges: Sequence[Gauge]) -> list[Gauge]:
        """With who could take what, and without what is paused among what a worker could take."""
        workers = await self._store.list_workers()
        pauses = Pauses(await self._store.list_pauses())
        return [_seen(gauge, workers, pauses) for gauge in gauges]


def _seen(gauge: Gauge, workers: Sequence[WorkerInfo], pauses: Pauses) -> Gauge:
    lane = gauge.route
    takers = takers_of(lane, workers)
    slots = sum(worker.slots_of.get(lane.type, worker.slots) for worker in takers) / len(takers) if takers else None
    depth = gauge.depth
    if depth.ready and pauses.holding(lane):
        depth = msgspec.structs.replace(depth, ready=0)
    return msgspec.structs.replace(gauge, depth=depth, workers=len(takers), slots=slots)
