"""Enqueues the jobs of schedules when their time has come (S1).

A tick is taken by a change of the schedule that is stored together with its job, if the schedule is still as it was
read and this worker still leads. So it is taken once, whoever else tries; and its job has an id that follows from the
schedule and the tick.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from penstock.coordinator.settings import CoordinatorSettings
from penstock.domain import errors
from penstock.domain.clock import MICROSECONDS
from penstock.domain.flow.gates import Wholes
from penstock.domain.ids import id_from
from penstock.observe.logs import fields
from penstock.observe.redaction import told
from penstock.store.contract import (
    ChangeSchedules,
    DueSchedules,
    NewJob,
    ScheduleChange,
    SchedulePlan,
    ScheduleRow,
    Store,
    decode_plan,
    job_of_plan,
)

PAGE = 200
AT_ONCE = 10
"""So many are reckoned before others have their turn on the event loop."""
TICKS_AT_ONCE = 100
"""Of one schedule that catches up, in one transaction."""
COUNTED_MAX = 100
"""Missed ticks are counted so far."""
TRY_AGAIN_SECONDS = 60.0
"""One that could not be fired is put aside for so long: it must not hold up the others."""
PAUSE_SECONDS_MIN = 0.001
NOT_ITS_FAULT = (
    errors.NotLeader, errors.StoreUnavailable, errors.StoreBusy, errors.StoreFull, errors.StoreReadOnly,
    errors.StoreGone, errors.StoreClosed, errors.StoreMissing, errors.StoreVersionError, errors.CommitUncertain,
)  # fmt: skip
"""What keeps every schedule from being fired."""

log = logging.getLogger("penstock.coordinator")


class Due(NamedTuple):
    """The ticks of which jobs are made, the next one, and how many were missed: dropped, or late beyond the grace."""

    ticks: list[int]
    next_at: int | None
    missed: int


class Missed(NamedTuple):
    """How often one was missed, and how many jobs were made instead, in one look."""

    times: int
    fired: int


class Firing:
    name = "fire schedules"
    judges = False
    makes_work = True

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self.interval = settings.schedule_interval
        self.on_missed: Callable[[Mapping[str, int]], None] = lambda missed: None
        """Told which were missed, and how often."""
        self._aside: dict[tuple[str, int], float] = {}
        """Those that could not be fired, by name and revision, and until when they are left alone.

        One that was changed since is tried at once.
        """

    async def do(self, term: int | None) -> float:
        """Fire all that is due. Answers when to come again: at the next tick, or soon, for there may be new ones.

        Without a term nobody is asked who leads: where there is only one who could.
        """
        missed = dict[str, Missed]()
        try:
            while True:
                now = asyncio.get_running_loop().time()
                self._aside = {one: until for one, until in self._aside.items() if until > now}
                found = await self._store.due_schedules(DueSchedules(PAGE, tuple(self._aside)))
                if not found.schedules:
                    break
                await self._fire(found.schedules, found.now, term, missed)
        finally:
            _tell_missed(missed)
            self.on_missed({name: one.times for name, one in missed.items() if one.times})
        if found.next_at is None:
            return self.interval
        return min(max((found.next_at - found.now) / MICROSECONDS, PAUSE_SECONDS_MIN), self.interval)

    async def _fire(self, rows: Sequence[ScheduleRow], now: int, term: int | None, missed: dict[str, Missed]) -> None:
        wholes = Wholes(await self._store.read_limits())
        changes, late = list[ScheduleChange](), dict[str, int]()
        for number, row in enumerate(rows, 1):
            try:
                plan = decode_plan(row)
                due = due_ticks(plan, row, now)
                changes.append(_change(plan, row, due, wholes))
                late[row.name] = due.missed
            except Exception as error:
                self._put_aside(row.name, row.revision, error)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)  # After an outage there may be much to reckon.
        for change in await self._stored(changes, term):
            if change.jobs:
                log.debug("schedule %s fired", change.name, extra=fields(
                    "schedule.fired", schedule=change.name, jobs=[job.id for job in change.jobs]))  # fmt: skip
            before = missed.get(change.name, Missed(0, 0))
            missed[change.name] = Missed(before.times + late[change.name], before.fired + len(change.jobs))

    async def _stored(self, changes: Sequence[ScheduleChange], term: int | None) -> list[ScheduleChange]:
        """Those that nobody else has fired or changed. If one cannot be stored, each is tried by itself."""
        try:
            names = (await self._store.change_schedules(ChangeSchedules(changes, term))).last if changes else {}
        except NOT_ITS_FAULT:
            raise
        except Exception as error:
            if len(changes) == 1:
                self._put_aside(changes[0].name, changes[0].revision or 0, error)
                return []
            return [done for one in changes for done in await self._stored([one], term)]
        return [one for one in changes if one.name in names]

    def _put_aside(self, name: str, revision: int, error: Exception) -> None:
        self._aside[name, revision] = asyncio.get_running_loop().time() + TRY_AGAIN_SECONDS
        log.error("schedule %s could not be fired, and is tried again in a minute: %s; look at it with: penstock "
                  "schedules show %s", name, told(error), name,
                  extra=fields("schedule.failed", schedule=name, reason=told(error)))  # fmt: skip


def _tell_missed(missed: Mapping[str, Missed]) -> None:
    """Once for each, though one that catches up is fired in many pages."""
    for name, (times, fired) in missed.items():
        if not times:
            continue
        often = f"{times} times or more" if times == COUNTED_MAX else "once" if times == 1 else f"{times} times"
        log.warning("schedule %s was missed %s: nobody led the workers, or all were busy at its time; %s", name, often,
                    f"{fired} fired now" if fired else "nothing fired now",
                    extra=fields("schedule.missed", schedule=name, missed=times, fired=fired))  # fmt: skip


def due_ticks(plan: SchedulePlan, row: ScheduleRow, now: int) -> Due:
    """What is to be made of the ticks since the last time."""
    assert row.next_at is not None
    left = TICKS_AT_ONCE if plan.limit is None else max(0, plan.limit - row.fires)
    found = _each(plan, row, row.next_at, now, left) if plan.misfire == "all" else _last(plan, row, row.next_at, now)
    return found if plan.limit is None or len(found.ticks) < left else found._replace(next_at=None)


def _each(plan: SchedulePlan, row: ScheduleRow, first: int, now: int, left: int) -> Due:
    ticks: list[int] = []
    ahead: int | None = first
    while ahead is not None and ahead <= now and len(ticks) < min(left, TICKS_AT_ONCE):
        ticks.append(ahead)
        ahead = plan.timing.after(ahead, row.anchor)
    return Due(ticks, ahead, sum(_is_late(plan, tick, now) for tick in ticks))


def _last(plan: SchedulePlan, row: ScheduleRow, first: int, now: int) -> Due:
    last, count, ahead = first, 1, plan.timing.after(first, row.anchor)
    if ahead is not None and ahead <= now:
        last = plan.timing.latest(first, now, row.anchor)
        count, ahead = _counted(plan, row, first, last), plan.timing.after(last, row.anchor)
    late = _is_late(plan, last, now)
    return Due([] if late and plan.misfire == "skip" else [last], ahead, min(count - 1 + late, COUNTED_MAX))


def _counted(plan: SchedulePlan, row: ScheduleRow, first: int, last: int) -> int:
    count, ahead = 1, plan.timing.after(first, row.anchor)
    while ahead is not None and ahead <= last and count <= COUNTED_MAX:
        count, ahead = count + 1, plan.timing.after(ahead, row.anchor)
    return count


def _is_late(plan: SchedulePlan, tick: int, now: int) -> bool:
    return now - tick > plan.grace * MICROSECONDS


def _change(plan: SchedulePlan, row: ScheduleRow, due: Due, wholes: Wholes) -> ScheduleChange:
    gates = plan.gates + wholes.gates_of(plan.spec.type, plan.spec.queue)
    jobs = tuple(
        NewJob(id_from(tick, row.name, row.created_at), plan.payload, job_of_plan(row.name, plan, tick), gates)
        for tick in due.ticks
    )
    taken = msgspec.structs.replace(
        row,
        next_at=due.next_at,
        fires=row.fires + len(jobs),
        last_at=due.ticks[-1] if jobs else row.last_at,
        last_job=jobs[-1].id if jobs else row.last_job,
    )
    return ScheduleChange(row.name, taken, row.revision, jobs)
