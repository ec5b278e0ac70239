"""Takes back the jobs of workers that were not heard of for too long."""

from __future__ import annotations

import asyncio
import logging

from penstock.coordinator.settings import CoordinatorSettings
from penstock.coordinator.staleness import Staleness
from penstock.observe.logs import fields
from penstock.observe.words import counted
from penstock.store.contract import RecoverJobs, Store, WorkerInfo

PAUSE_SECONDS_MIN = 0.02

log = logging.getLogger("penstock.coordinator")


class Recovery:
    name = "look for lost workers"
    judges = True
    makes_work = True

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self._stale_after = settings.stale_after
        self._watch = Staleness(settings.stale_after)
        self.interval = settings.recovery_interval

    async def has_cause(self) -> bool:
        """Looking is watching: whoever is still silent when it is done was watched since then."""
        workers = await self._store.list_workers()
        now = asyncio.get_running_loop().time()
        self._watch.look(workers, now, now)
        return any(self._is_overdue(worker) for worker in workers)

    def _is_overdue(self, worker: WorkerInfo) -> bool:
        """Not heard of for too long, or ended with jobs in its hands."""
        if worker.status in ("active", "draining") or worker.failing:
            return worker.silent > max(self._stale_after, worker.stale_after)
        return worker.jobs > 0

    async def do(self, term: int) -> float:
        """Answers when to come again: when the next worker would be lost, so that none waits for the interval too."""
        clock = asyncio.get_running_loop()
        asked = clock.time()
        found = self._watch.look(await self._store.list_workers(), asked, clock.time())
        await recover(self._store, RecoverJobs(self._stale_after, term=term, unheard=found.lost, mend=False))
        if found.next_in is None:
            return self.interval
        return min(max(found.next_in, PAUSE_SECONDS_MIN), self.interval)


async def recover(store: Store, params: RecoverJobs) -> None:
    more = True
    while more:
        recovered = await store.recover_jobs(params)
        more = recovered.more
        if recovered.workers:
            log.warning(
                "recovered %s of lost workers: %s",
                counted(len(recovered.jobs), "job"),
                ", ".join(recovered.workers),
                extra=fields("jobs.recovered", jobs=len(recovered.jobs), workers=recovered.workers),
            )
