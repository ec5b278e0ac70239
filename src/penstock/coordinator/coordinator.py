"""Leads if it can, and does the duties while it leads."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable

from penstock.coordinator.duty import Duty
from penstock.coordinator.leader import Leader
from penstock.domain.errors import NotLeader, PenstockError
from penstock.observe.redaction import told

log = logging.getLogger("penstock.coordinator")


class Coordinator:
    """`trusted` says whether this worker was in touch with the store of late: one that was cut off knows too little of
    the others to judge them.
    """

    def __init__(self, leader: Leader, duties: Iterable[Duty], trusted: Callable[[], bool]) -> None:
        self._leader = leader
        self._duties = list(duties)
        self._trusted = trusted

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._leader.run())
            for duty in self._duties:
                group.create_task(self._do_regularly(duty))

    async def begin_with(self, name: str) -> None:
        """Ask for the lead once and, if it is given, do one duty now: for a worker that may end before the duty's turn.

        Whoever leads already is left alone, and does it.
        """
        await self._leader.ask()
        term = self._leader.term
        for duty in self._duties:
            if duty.name == name and term is not None:
                await self._do(duty, term)

    async def resign(self) -> None:
        await self._leader.resign()

    async def _do_regularly(self, duty: Duty) -> None:
        pause: float | None = None
        while True:
            await asyncio.sleep(duty.interval * (0.9 + 0.2 * random.random()) if pause is None else pause)
            term = self._leader.term
            pause = None
            if term is not None and (self._trusted() or not duty.judges):
                pause = await self._do(duty, term)

    async def _do(self, duty: Duty, term: int) -> float | None:
        try:
            return await duty.do(term)
        except NotLeader:
            self._leader.step_down()
        except PenstockError as error:
            log.error("could not %s: %s", duty.name, told(error))
        return None
