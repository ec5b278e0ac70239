"""Takes back the jobs of workers that were not heard of for too long."""

from __future__ import annotations

import logging

from penstock.coordinator.settings import CoordinatorSettings
from penstock.observe.logs import fields
from penstock.store.contract import Store
from penstock.store.params import RecoverJobs

log = logging.getLogger("penstock.coordinator")


class Recovery:
    name = "look for lost workers"
    judges = True

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self._stale_after = settings.stale_after
        self.interval = settings.recovery_interval

    async def do(self, term: int) -> None:
        more = True
        while more:
            recovered = await self._store.recover_jobs(RecoverJobs(self._stale_after, term=term))
            more = recovered.more
            if recovered.workers:
                log.warning(
                    "recovered %d jobs of lost workers: %s",
                    len(recovered.jobs),
                    ", ".join(recovered.workers),
                    extra=fields("jobs.recovered", jobs=len(recovered.jobs), workers=recovered.workers),
                )
