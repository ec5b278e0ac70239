"""The other workers: whether one could take a job that failed here (F2), and who shares new work with this one (R4)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from penstock.domain.errors import PenstockError
from penstock.domain.flow.routing import LaneKey, why_not
from penstock.observe.stuck import takers_among
from penstock.observe.trouble import Trouble
from penstock.store.contract import Store, WorkerInfo
from penstock.worker.running.run import Run

LOOK_SECONDS = 5.0
LOOK_SECONDS_EACH = 0.1  # However many there are, together they look ten times a second at most.

log = logging.getLogger("penstock.worker")


class OtherWorkers:
    """The live workers as of the last look, now and then."""

    def __init__(self, store: Store, session: Callable[[], int]) -> None:
        self._store = store
        self._session = session
        self.around: list[WorkerInfo] = []
        """All that take jobs, this one among them."""
        self.telling = Trouble(log).part(passing=True)

    def may_take(self, run: Run) -> bool:
        """Whether one of them could run this job. What is not known yet is a no."""
        claim, options = run.claim, run.plan.declaration.options
        asked = LaneKey(claim.type, claim.queue, options.capability, claim.resources or options.resources)
        return any(not why_not(one, asked) for one in self.around if one.session != self._session())

    async def run(self) -> None:
        while True:
            try:
                self.around = takers_among(await self._store.list_workers())
                self.telling.worked()
            except PenstockError as error:
                self.telling.failed("could not look for other workers", error)
            await asyncio.sleep(max(LOOK_SECONDS, LOOK_SECONDS_EACH * len(self.around)))
