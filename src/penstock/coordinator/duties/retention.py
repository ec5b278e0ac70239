"""Removes what retention no longer keeps, in small transactions so that nobody waits long."""

from __future__ import annotations

import asyncio

from penstock.coordinator.settings import CoordinatorSettings
from penstock.store.contract import PruneJobs, Store

PAGE = 1000
PAUSE_SECONDS = 0.05


class Pruning:
    name = "remove old jobs"
    judges = False
    makes_work = False

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self._keep = settings.retention
        self.interval = settings.prune_interval

    async def do(self, term: int) -> None:
        keep = self._keep
        params = PruneJobs(
            completed_after=keep.completed, cancelled_after=keep.cancelled, dead_after=keep.dead, limit=PAGE, term=term
        )
        while (await self._store.prune_jobs(params)).jobs >= PAGE:
            await asyncio.sleep(PAUSE_SECONDS)
