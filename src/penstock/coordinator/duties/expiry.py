"""Ends jobs that have waited for longer than their time-to-live, also while all workers are busy."""

from __future__ import annotations

from penstock.coordinator.settings import CoordinatorSettings
from penstock.store.contract import ExpireJobs, Store


class Expiry:
    name = "end jobs that waited for too long"
    judges = False
    makes_work = True

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self.interval = settings.recovery_interval

    async def do(self, term: int) -> None:
        await self._store.expire_jobs(ExpireJobs(term))
