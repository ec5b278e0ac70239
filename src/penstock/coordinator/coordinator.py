"""Leads if it can, and does the duties while it leads."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Iterable

from penstock.coordinator.alerting.unled import Unled
from penstock.coordinator.duty import Duty, Judge
from penstock.coordinator.leader import Leader
from penstock.domain.errors import NotLeader, PenstockError
from penstock.observe.logs import fields
from penstock.observe.trouble import Trouble

POLL_SECONDS = 0.05
JUDGING_SECONDS_MAX = 120.0
"""For so long at most one that is about to end stays to judge others."""

AGAIN_SECONDS = 30.0
"""A duty that could not be done is tried again after so long, even if its turn comes less often."""

log = logging.getLogger("penstock.coordinator")


class Coordinator:
    """`trusted` says whether this worker was in touch with the store of late: one that was cut off knows too little of
    the others to judge them. A duty that cannot be done is a part of the `trouble` that others may meet too.
    """

    def __init__(self, leader: Leader, duties: Iterable[Duty], trusted: Callable[[], bool],
                 trouble: Trouble | None = None, unled: Unled | None = None) -> None:  # fmt: skip
        self._leader = leader
        self._unled = unled
        self._duties = list(duties)
        self._turns = {id(duty): asyncio.Lock() for duty in self._duties}
        self._trusted = trusted
        trouble = trouble or Trouble(log)
        self._telling = {id(duty): trouble.part(passing=True) for duty in self._duties}

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._leader.run())
            if self._unled is not None:
                group.create_task(self._unled.run(lambda: self._leader.unled_seconds))
            for duty in self._duties:
                group.create_task(self._do_regularly(duty))

    async def begin(self) -> None:
        """Ask for the lead once and, if it is given, do now what makes work: for a worker that may end before the turn
        of any duty. Whoever leads already is left alone, and does it.

        Others are not judged yet: see settle().
        """
        await self._leader.ask()
        await self._do_now(duty for duty in self._duties if duty.makes_work and not duty.judges)

    async def settle(self) -> None:
        """All duties once more, by a worker that found nothing to run and leads: there may be something afterwards.

        It has been there for too short a time to judge others: after a sleep of the machine, or while the store was
        away, all of them look lost. So it waits until it may, and has watched them, but only if there is somebody to
        judge.
        """
        clock = asyncio.get_running_loop()
        end = clock.time() + JUDGING_SECONDS_MAX
        while judges := [one for one in self._duties if isinstance(one, Judge) and await self._has_cause(one)]:
            await self._until_trusted(judges, end)
            await self._do_now(judges)
            if clock.time() >= end:
                break
            await asyncio.sleep(POLL_SECONDS)  # Those that watch, or look twice, are not done at once.
        await self._do_now(duty for duty in self._duties if duty.makes_work and not duty.judges)

    async def finish(self) -> None:
        """What makes no work and can wait until a worker has none."""
        await self._do_now(duty for duty in self._duties if not duty.makes_work and not duty.judges)

    async def resign(self) -> None:
        await self._leader.resign()

    @property
    def leads(self) -> bool:
        return self._leader.term is not None

    async def _has_cause(self, duty: Judge) -> bool:
        if not self.leads:
            return False
        try:
            return await duty.has_cause()
        except PenstockError as error:
            self._telling[id(duty)].failed(f"could not {duty.name}", error)
            return False

    async def _until_trusted(self, judges: Iterable[Duty], end: float) -> None:
        if not self._trusted():
            log.info("before it ends: %s; waiting until this worker has been there for long enough to judge",
                     ", ".join(duty.name for duty in judges), extra=fields("coordinator.waiting"))  # fmt: skip
        while self.leads and not self._trusted() and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(POLL_SECONDS)

    async def _do_now(self, duties: Iterable[Duty]) -> None:
        for duty in duties:
            term = self._leader.term
            if term is not None and (self._trusted() or not duty.judges):
                await self._do(duty, term)

    async def _do_regularly(self, duty: Duty) -> None:
        pause: float | None = None
        while True:
            await asyncio.sleep(duty.interval * (0.9 + 0.2 * random.random()) if pause is None else pause)
            term = self._leader.term
            pause = None
            if term is None:
                self._telling[id(duty)].worked()  # It is another's now, and whether that can do it is not known here.
            elif self._trusted() or not duty.judges:
                pause = await self._do(duty, term)

    async def _do(self, duty: Duty, term: int) -> float | None:
        try:
            async with self._turns[id(duty)]:  # One that is about to end does them between their regular turns.
                pause = await duty.do(term)
        except NotLeader:
            self._leader.step_down()
            return None
        except PenstockError as error:
            self._telling[id(duty)].failed(f"could not {duty.name}", error)
            return min(duty.interval, AGAIN_SECONDS)
        self._telling[id(duty)].worked()
        return pause
