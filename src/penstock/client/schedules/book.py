"""app.schedules: add, list, pause, resume, reschedule, remove and run schedules, in plain and in async code.

Every act reads the schedule, reckons what shall become of it, and stores that if nobody has changed it meanwhile;
otherwise it is done again. Each is written once, as steps that yield calls of the store.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Unpack

import msgspec

from penstock.client.client import Client, JobCall, JobHandle, refuse_in_loop
from penstock.client.schedules import edits
from penstock.client.schedules.plan import (
    SCHEDULE_NAME_LENGTH_MAX,
    When,
    changed_plan,
    check_schedule_name,
    is_schedule_name,
    make_plan,
)
from penstock.client.schedules.schedule import Schedule, schedule_of, upcoming
from penstock.client.steps import Steps, awaited, waited
from penstock.domain.errors import ConfigError, StoreBusy, UnknownSchedule
from penstock.domain.options import check_by
from penstock.observe.logs import fields
from penstock.store.call import Call
from penstock.store.contract import (
    ChangeSchedules,
    NewJob,
    ReadSchedules,
    ScheduleChange,
    SchedulePage,
    SchedulePlan,
    ScheduleRow,
    SchedulesChanged,
    decode_plan,
    job_of_plan,
)

Listed = list[Schedule]
Moments = list[datetime]
Stored = dict[str, str | None]
Edit = Callable[[ScheduleRow, int], ScheduleRow | None]
TRIES_MAX = 50
UPCOMING_MAX = 1000

log = logging.getLogger("penstock.schedules")


class ScheduleBook:
    """The schedules of a store. Each method has a twin for async code: add and aadd, list and alist, …"""

    def __init__(self, client: Client) -> None:
        self._client = client

    # Adding and looking

    def add(self, name: str, *, job: JobCall[Any], by: str = "client", **when: Unpack[When]) -> Schedule:
        """Add a schedule: add("nightly", job=cleanup.bind(), cron="0 3 * * *", timezone="Europe/Berlin")."""
        refuse_in_loop("add", "aadd")
        return waited(self._add(name, make_plan(job, when), by))

    async def aadd(self, name: str, *, job: JobCall[Any], by: str = "client", **when: Unpack[When]) -> Schedule:
        return await awaited(self._add(name, make_plan(job, when), by))

    def _add(self, name: str, plan: SchedulePlan, by: str) -> Steps[Schedule]:
        check_by(by)
        for _ in range(TRIES_MAX):
            found: SchedulePage = yield self._client.store.read_schedules(ReadSchedules((check_schedule_name(name),)))
            declared, revision = _room_for(name, found.schedules)
            row = edits.new_row(name, plan, found.now, by, declared)
            edits.refuse_over(name, plan, row)
            if (yield self._change("add", by, ScheduleChange(name, row, revision))):
                log.info("schedule %s added: %s", name, plan.timing, extra=fields("schedule.installed", schedule=name))
                return schedule_of(row)
        raise _busy(name)

    def list(self, *, removed: bool = False) -> Listed:
        """All schedules by name; with `removed` also those that a program declares and a person has removed."""
        refuse_in_loop("list", "alist")
        return waited(self._list(removed))

    async def alist(self, *, removed: bool = False) -> Listed:
        return await awaited(self._list(removed))

    def _list(self, removed: bool) -> Steps[Listed]:
        found: SchedulePage = yield self._client.store.read_schedules(ReadSchedules())
        return [schedule_of(row) for row in found.schedules if removed or row.status != "removed"]

    def get(self, name: str) -> Schedule:
        """The schedule of this name, or UnknownSchedule."""
        refuse_in_loop("get", "aget")
        return waited(self._get(name))

    async def aget(self, name: str) -> Schedule:
        return await awaited(self._get(name))

    def _get(self, name: str) -> Steps[Schedule]:
        _, row = yield from self._find(name)
        return schedule_of(row)

    def upcoming(self, name: str, count: int = 5) -> Moments:
        """The next times of a schedule; none of one that is paused, removed or finished."""
        refuse_in_loop("upcoming", "aupcoming")
        return waited(self._upcoming(name, count))

    async def aupcoming(self, name: str, count: int = 5) -> Moments:
        return await awaited(self._upcoming(name, count))

    def _upcoming(self, name: str, count: int) -> Steps[Moments]:
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= UPCOMING_MAX:
            raise ConfigError(f"count={count!r} is not possible: a whole number from 1 to {UPCOMING_MAX}")
        now, row = yield from self._find(name)
        return upcoming(row, now, count)

    # Changing

    def pause(self, name: str, *, by: str = "client") -> bool:
        """Fire it no more until it is resumed. False when it was paused before."""
        refuse_in_loop("pause", "apause")
        return waited(self._pause(name, by))

    async def apause(self, name: str, *, by: str = "client") -> bool:
        return await awaited(self._pause(name, by))

    def _pause(self, name: str, by: str) -> Steps[bool]:
        def edit(row: ScheduleRow, now: int) -> ScheduleRow | None:
            _refuse_removed(row)
            return row if row.status == "paused" else edits.paused(row, now, by)

        return bool((yield from self._edit(name, by, "pause", edit)))

    def resume(self, name: str, *, by: str = "client") -> bool:
        """Fire a paused one again, or bring back one that was removed. False when it was neither.

        What was missed meanwhile is not made up for.
        """
        refuse_in_loop("resume", "aresume")
        return waited(self._resume(name, by))

    async def aresume(self, name: str, *, by: str = "client") -> bool:
        return await awaited(self._resume(name, by))

    def _resume(self, name: str, by: str) -> Steps[bool]:
        def edit(row: ScheduleRow, now: int) -> ScheduleRow | None:
            if row.status == "active" and row.next_at is not None:
                return row
            plan = decode_plan(row)
            new = row if row.status == "active" else edits.resumed(row, plan, now, by)
            fix = "add" if row.status == "removed" else "reschedule"
            edits.refuse_over(name, plan, new, f"mend that with: penstock schedules {fix} {name}")
            return new

        return bool((yield from self._edit(name, by, "resume", edit)))

    def reschedule(
        self, name: str, *, job: JobCall[Any] | None = None, by: str = "client", **when: Unpack[When]
    ) -> Schedule:
        """Change what is given, and leave the rest: reschedule("nightly", cron="0 4 * * *")."""
        refuse_in_loop("reschedule", "areschedule")
        return waited(self._reschedule(name, job, by, when))

    async def areschedule(
        self, name: str, *, job: JobCall[Any] | None = None, by: str = "client", **when: Unpack[When]
    ) -> Schedule:
        return await awaited(self._reschedule(name, job, by, when))

    def _reschedule(self, name: str, job: JobCall[Any] | None, by: str, when: When) -> Steps[Schedule]:
        if job is None and not when:
            raise ConfigError(f"what is to be changed of {name!r}? Give cron=, every=, timezone=, job= or another")

        def edit(row: ScheduleRow, now: int) -> ScheduleRow | None:
            _refuse_removed(row)
            before = decode_plan(row)
            plan = changed_plan(before, job, when)
            new = edits.with_plan(row, before, plan, now, by)
            edits.refuse_over(name, plan, new)
            return new

        yield from self._edit(name, by, "reschedule", edit)
        return (yield from self._get(name))

    def remove(self, name: str, *, by: str = "client") -> None:
        """Remove it. One that a program declares stays removed when that starts again; resume() brings it back."""
        refuse_in_loop("remove", "aremove")
        waited(self._remove(name, by))

    async def aremove(self, name: str, *, by: str = "client") -> None:
        await awaited(self._remove(name, by))

    def _remove(self, name: str, by: str) -> Steps[None]:
        def edit(row: ScheduleRow, now: int) -> ScheduleRow | None:
            _refuse_removed(row)
            return edits.removed(row, now, by)

        yield from self._edit(name, by, "remove", edit)
        log.info("schedule %s removed by %s", name, by, extra=fields("schedule.removed", schedule=name, by=by))

    # Running now

    def run(self, name: str, *, by: str = "client") -> JobHandle[Any]:
        """Enqueue its job now, beside its times and its limit; also while it is paused."""
        refuse_in_loop("run", "arun")
        return waited(self._run(name, by))

    async def arun(self, name: str, *, by: str = "client") -> JobHandle[Any]:
        return await awaited(self._run(name, by))

    def _run(self, name: str, by: str) -> Steps[JobHandle[Any]]:
        made: list[NewJob] = []

        def edit(row: ScheduleRow, now: int) -> ScheduleRow | None:
            _refuse_removed(row)
            plan = decode_plan(row)
            call: JobCall[Any] = JobCall(plan.payload, job_of_plan(name, plan, now), gates=plan.gates)
            made[:] = self._client.new_jobs([call])
            return msgspec.structs.replace(row, last_at=now, last_job=made[0].id)

        stored = yield from self._edit(name, by, "run", edit, made)
        ran = stored[name] or made[0].id
        return JobHandle(ran, ran == made[0].id, self._client)

    # One at a time

    def _change(self, action: str, by: str, change: ScheduleChange) -> Call[SchedulesChanged]:
        return self._client.store.change_schedules(ChangeSchedules([change], actor=by, action=action))

    def _edit(self, name: str, by: str, action: str, edit: Edit, jobs: Sequence[NewJob] = ()) -> Steps[Stored]:
        """Store what `edit` makes of the schedule, if it does not leave it as it is. `jobs` are filled by it."""
        check_by(by)
        for _ in range(TRIES_MAX):
            now, row = yield from self._find(name)
            new = edit(row, now)
            if new is row:
                return {}
            one = ScheduleChange(name, new, row.revision, tuple(jobs))
            changed: SchedulesChanged = yield self._change(action, by, one)
            if changed.last:
                return changed.last
        raise _busy(name)

    def _find(self, name: str) -> Steps[tuple[int, ScheduleRow]]:
        asked = (name,) if is_schedule_name(name) else ()
        found: SchedulePage = yield self._client.store.read_schedules(ReadSchedules(asked))
        if found.schedules:
            return found.now, found.schedules[0]
        every: SchedulePage = yield self._client.store.read_schedules(ReadSchedules())
        raise unknown_schedule(name, [row.name for row in every.schedules])


def unknown_schedule(name: str, known: list[str]) -> UnknownSchedule:
    asked = str(name)
    shown = repr(asked) if len(asked) <= SCHEDULE_NAME_LENGTH_MAX else f"{asked[:30]!r}…"
    near = get_close_matches(asked[:SCHEDULE_NAME_LENGTH_MAX], known, n=1)
    if near:
        fix = f"did you mean {near[0]!r}?"
    else:
        fix = f"there are: {', '.join(known[:20])}" if known else "there is none yet; declare one with app.schedule(…)"
    return UnknownSchedule(f"no schedule is named {shown} in this store; {fix}")


def _room_for(name: str, there: Sequence[ScheduleRow]) -> tuple[str | None, int | None]:
    """One that was removed and is remembered makes room. What a program declares stays known, with the revision."""
    for row in there:
        if row.status != "removed":
            raise ConfigError(
                f"there is a schedule {name!r} already; give another name, or change it with: penstock schedules "
                f"reschedule {name}"
            )
        return row.declared, row.revision
    return None, None


def _busy(name: str) -> StoreBusy:
    return StoreBusy(f"the schedule {name!r} was changed by others all the time; try again")


def _refuse_removed(row: ScheduleRow) -> None:
    if row.status == "removed":
        raise UnknownSchedule(
            f"the schedule {row.name!r} was removed by {row.changed_by}; bring it back with: penstock schedules "
            f"resume {row.name}"
        )
