"""What any worker does for all: takes back the jobs of lost workers, and removes what retention no longer keeps."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

from penstock.domain.errors import PenstockError
from penstock.observe.logs import fields
from penstock.store.contract import Store
from penstock.store.params import PruneJobs, RecoverJobs
from penstock.worker.heartbeat import Heartbeat
from penstock.worker.memory import resident_bytes
from penstock.worker.settings import WorkerSettings

PRUNE_PAGE = 1000
MEMORY_SECONDS = 1.0

log = logging.getLogger("penstock.worker")


async def recover_regularly(store: Store, settings: WorkerSettings, heartbeat: Heartbeat) -> None:
    """Every recovery interval, unless this worker itself was cut off from the store a moment ago."""
    while True:
        await asyncio.sleep(settings.recovery_interval * (0.9 + 0.2 * random.random()))
        if heartbeat.trusted():
            await _recover(store, settings)


async def _recover(store: Store, settings: WorkerSettings) -> None:
    more = True
    while more:
        try:
            recovered = await store.recover_jobs(RecoverJobs(settings.stale_after))
        except PenstockError as error:
            log.error("could not look for lost workers: %s", error)
            return
        more = recovered.more
        if recovered.workers:
            log.warning(
                "recovered %d jobs of lost workers: %s",
                len(recovered.jobs),
                ", ".join(recovered.workers),
                extra=fields("jobs.recovered", jobs=len(recovered.jobs), workers=recovered.workers,
                             worker_id=settings.worker_id),
            )  # fmt: skip


async def prune_regularly(store: Store, settings: WorkerSettings) -> None:
    """Every prune interval, in small transactions so that nobody waits long."""
    keep = settings.retention
    params = PruneJobs(
        completed_after=keep.completed, cancelled_after=keep.cancelled, dead_after=keep.dead, limit=PRUNE_PAGE
    )
    while True:
        await asyncio.sleep(settings.prune_interval * (0.9 + 0.2 * random.random()))
        try:
            while await store.prune_jobs(params) >= PRUNE_PAGE:
                await asyncio.sleep(0.05)
        except PenstockError as error:
            log.error("could not remove old jobs: %s", error)


async def watch_memory(limit: int | None, exceeded: Callable[[str], None]) -> None:
    """Look once a second whether this process holds more than it may."""
    while limit is not None:
        await asyncio.sleep(MEMORY_SECONDS)
        held = resident_bytes()
        if held > limit:
            exceeded(f"it holds {held // 2**20} MiB, more than {limit // 2**20} MiB")
            return
