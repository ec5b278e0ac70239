"""Raises the priority of jobs that have waited for long, so that urgent ones cannot starve them (R6)."""

from __future__ import annotations

from penstock.coordinator.settings import CoordinatorSettings
from penstock.store.contract import AgeJobs, Store


class Ageing:
    name = "raise the priority of jobs that have waited for long"
    judges = False
    makes_work = False

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self._ageing = settings.ageing
        self.interval = settings.recovery_interval

    async def do(self, term: int) -> None:
        if self._ageing is not None:
            await self._store.age_jobs(AgeJobs(self._ageing, term))
