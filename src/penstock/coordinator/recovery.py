"""Takes back the jobs of workers that were not heard of for too long."""

from __future__ import annotations

import asyncio
import logging

from penstock.coordinator.settings import CoordinatorSettings
from penstock.coordinator.watch import Watch
from penstock.observe.logs import fields
from penstock.store.contract import Store
from penstock.store.params import RecoverJobs

PAUSE_SECONDS_MIN = 0.02

log = logging.getLogger("penstock.coordinator")


class Recovery:
    name = "look for lost workers"
    judges = True

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self._stale_after = settings.stale_after
        self._watch = Watch(settings.stale_after)
        self.interval = settings.recovery_interval

    async def do(self, term: int) -> float:
        """Answers when to come again: when the next worker would be lost, so that none waits for the interval too."""
        clock = asyncio.get_running_loop()
        asked = clock.time()
        found = self._watch.look(await self._store.list_workers(), asked, clock.time())
        await self._recover(RecoverJobs(self._stale_after, term=term, unheard=found.lost))
        if found.next_in is None:
            return self.interval
        return min(max(found.next_in, PAUSE_SECONDS_MIN), self.interval)

    async def _recover(self, params: RecoverJobs) -> None:
        more = True
        while more:
            recovered = await self._store.recover_jobs(params)
            more = recovered.more
            if recovered.workers:
                log.warning(
                    "recovered %d jobs of lost workers: %s",
                    len(recovered.jobs),
                    ", ".join(recovered.workers),
                    extra=fields("jobs.recovered", jobs=len(recovered.jobs), workers=recovered.workers),
                )
