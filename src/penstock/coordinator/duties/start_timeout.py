"""Takes back jobs that a worker has claimed and does not begin."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from penstock.coordinator.settings import CoordinatorSettings
from penstock.domain.clock import MICROSECONDS, to_us
from penstock.domain.duration import format_duration
from penstock.domain.errors import NotAStore
from penstock.domain.job import State
from penstock.store.contract import GiveBackJobs, ListJobs, Store

LOOKED_AT = 1000
STEP_SECONDS = 1.0
"""When the store's clock went so much further than the own one between two looks, or less far, it was set."""

log = logging.getLogger("penstock.coordinator")


class StartTimeout:
    name = "look for jobs that were claimed and not begun"
    judges = True
    makes_work = True

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self._seconds = settings.start_timeout
        self.interval = settings.start_check_interval
        self._looked: tuple[int, float] | None = None
        self._believed_from = 0.0

    async def has_cause(self) -> bool:
        try:
            claimed = await self._store.list_jobs(ListJobs(states=frozenset({State.CLAIMED}), limit=LOOKED_AT))
        except (
            NotAStore,
            msgspec.MsgspecError,
            ValueError,
        ):  # One of them cannot be read, which whoever leads need not do.
            return True
        if not claimed:
            return False
        before = await self._store.read_clock() - int(self._seconds * MICROSECONDS)
        return any(job.claimed_at is not None and to_us(job.claimed_at, "claimed_at") <= before for job in claimed)

    async def do(self, term: int) -> None:
        if not await self._is_clock_believed():
            return
        params = GiveBackJobs(self._seconds, term)
        while True:
            given = await self._store.give_back_jobs(params)
            if len(given.waiting) + len(given.dead) < params.limit:
                return

    async def _is_clock_believed(self) -> bool:
        """Not after a step, until what was claimed before it has had its time by the own clock."""
        stored, now = await self._store.read_clock(), asyncio.get_running_loop().time()
        before, self._looked = self._looked, (stored, now)
        if before is not None:
            step = (stored - before[0]) / MICROSECONDS - (now - before[1])
            if abs(step) > STEP_SECONDS:
                self._believed_from = now + self._seconds
                log.warning("the store's clock was set by %+.0f s: jobs that were claimed and not begun are judged "
                            "again after %s", step, format_duration(self._seconds))  # fmt: skip
        return now >= self._believed_from
