"""Whether another worker could take a job that failed here: its next attempt is then left to it for a while (F2)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from penstock.domain.errors import PenstockError
from penstock.domain.options import Resources
from penstock.domain.routing import why_not
from penstock.observe.stuck import takers_among
from penstock.store.contract import Store
from penstock.store.params import WorkerInfo
from penstock.worker.run import Run

LOOK_SECONDS = 5.0

log = logging.getLogger("penstock.worker")


class Wanted(NamedTuple):
    """What a job asks for, as far as its claim and its declaration tell."""

    type: str
    queue: str
    capability: str
    resources: Resources


class Neighbours:
    """The other workers, as of the last look. Looks only when attempts have failed, and not too often."""

    def __init__(self, store: Store, session: Callable[[], int]) -> None:
        self._store = store
        self._session = session
        self._others: list[WorkerInfo] = []
        self._asked = asyncio.Event()
        self._looked = False

    def may_take(self, run: Run) -> bool:
        """Whether one of them could run this job. What is not known yet is a no."""
        self._asked.set()
        claim, options = run.claim, run.plan.declaration.options
        wanted = Wanted(claim.type, claim.queue, options.capability, options.resources)
        return any(not why_not(other, wanted) for other in self._others)

    async def run(self) -> None:
        while True:
            await self._asked.wait()
            self._asked.clear()
            try:
                found = takers_among(await self._store.list_workers())
                self._others = [other for other in found if other.session != self._session()]
                self._looked = True
            except PenstockError as error:
                log.warning("could not look for other workers: %s", error)
            await asyncio.sleep(LOOK_SECONDS)
