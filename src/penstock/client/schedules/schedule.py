"""A schedule as it reads."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from penstock.domain.clock import MICROSECONDS, YEAR_MAX, from_us, to_us
from penstock.domain.errors import ConfigError
from penstock.domain.payload import decode_json
from penstock.store.contract import Misfire, SchedulePlan, ScheduleRow, decode_plan, plan_problem

LAST_MOMENT = to_us(datetime(YEAR_MAX, 12, 31, tzinfo=UTC), "the last moment")
Status = Literal["active", "paused", "finished", "removed"]


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """What is enqueued when, and what became of it so far. Durations are seconds.

    `finished` is one that has no tick left: its end has come, or its limit was reached. A `problem` says why it cannot
    be fired here; if it cannot even be read, most of it is missing.
    """

    name: str
    status: Status
    type: str = ""
    queue: str = ""
    payload: Any = None
    tags: tuple[str, ...] = ()
    cron: str | None = None
    every: float | None = None
    timezone: str = "UTC"
    start: datetime | None = None
    end: datetime | None = None
    limit: int | None = None
    misfire: Misfire = "once"
    grace: float = 60.0
    fires: int = 0
    next_at: datetime | None = None
    last_at: datetime | None = None
    last_job: str | None = None
    declared: bool = False
    created_at: datetime | None = None
    changed_at: datetime | None = None
    changed_by: str = ""
    problem: str | None = None


def schedule_of(row: ScheduleRow) -> Schedule:
    status: Status = "finished" if row.status == "active" and row.next_at is None else row.status
    seen = Schedule(
        name=row.name,
        status=status,
        fires=row.fires,
        next_at=_moment(row.next_at) if status == "active" else None,
        last_at=_moment(row.last_at),
        last_job=row.last_job,
        declared=row.declared is not None,
        created_at=_moment(row.created_at),
        changed_at=_moment(row.changed_at),
        changed_by=row.changed_by,
    )
    problem = plan_problem(row)
    try:
        return msgspec.structs.replace(seen, problem=problem, **_planned(decode_plan(row)))
    except ConfigError:
        return msgspec.structs.replace(seen, problem=problem)


def upcoming(row: ScheduleRow, now: int, count: int) -> list[datetime]:
    """Its next times. The first may have passed, if it was not fired; those that were missed after it are left out."""
    if row.status != "active" or row.next_at is None:
        return []
    plan = decode_plan(row)
    left = count if plan.limit is None else min(count, plan.limit - row.fires)
    found, ahead = list[datetime](), row.next_at
    while len(found) < left and ahead <= LAST_MOMENT:
        found.append(from_us(ahead))
        tick = plan.timing.after(max(ahead, now), row.anchor)
        if tick is None:
            break
        ahead = tick
    return found


def _planned(plan: SchedulePlan) -> dict[str, Any]:
    timing = plan.timing
    return {
        "type": plan.spec.type,
        "queue": plan.spec.queue,
        "payload": decode_json(plan.payload),
        "tags": plan.spec.tags,
        "cron": timing.cron,
        "every": None if timing.every is None else timing.every / MICROSECONDS,
        "timezone": timing.timezone,
        "start": _moment(timing.start),
        "end": _moment(timing.end),
        "limit": plan.limit,
        "misfire": plan.misfire,
        "grace": plan.grace,
    }


def _moment(at: int | None) -> datetime | None:
    return None if at is None else from_us(at)
