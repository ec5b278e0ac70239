"""What each act makes of a stored schedule. Nothing here touches a store: whoever does compares and tries again."""

from __future__ import annotations

import msgspec

from penstock.domain.clock import from_us
from penstock.domain.errors import ConfigError
from penstock.store.contract import SchedulePlan, ScheduleRow

_replace = msgspec.structs.replace


def encode_plan(plan: SchedulePlan) -> str:
    return msgspec.json.encode(plan).decode()


def new_row(name: str, plan: SchedulePlan, now: int, by: str, declared: str | None = None) -> ScheduleRow:
    return ScheduleRow(
        name=name,
        plan=encode_plan(plan),
        next_at=next_tick(plan, 0, now, now),
        anchor=now,
        declared=declared,
        created_at=now,
        changed_at=now,
        changed_by=by,
    )


def next_tick(plan: SchedulePlan, fires: int, now: int, anchor: int) -> int | None:
    """The next tick from now on, unless the limit is reached."""
    if plan.limit is not None and fires >= plan.limit:
        return None
    return plan.timing.after(now, anchor)


def with_plan(row: ScheduleRow, before: SchedulePlan | None, plan: SchedulePlan, now: int, by: str) -> ScheduleRow:
    """Another plan for a schedule. As long as its times are the same, a tick that is due stays due."""
    same_times = before is not None and before.timing == plan.timing
    same_interval = before is not None and before.timing.every == plan.timing.every
    anchor = row.anchor if same_interval else now
    due = row.next_at if same_times and row.next_at is not None else next_tick(plan, row.fires, now, anchor)
    if plan.limit is not None and row.fires >= plan.limit:
        due = None
    return _replace(row, plan=encode_plan(plan), next_at=due, anchor=anchor, changed_at=now, changed_by=by)


def resumed(row: ScheduleRow, plan: SchedulePlan, now: int, by: str) -> ScheduleRow:
    """What was missed while it was paused is not made up for."""
    due = next_tick(plan, row.fires, now, row.anchor)
    return _replace(row, status="active", next_at=due, changed_at=now, changed_by=by)


def paused(row: ScheduleRow, now: int, by: str) -> ScheduleRow:
    return _replace(row, status="paused", changed_at=now, changed_by=by)


def removed(row: ScheduleRow, now: int, by: str) -> ScheduleRow | None:
    """One that a program declares is remembered, so that its next start does not bring it back."""
    return None if row.declared is None else _replace(row, status="removed", changed_at=now, changed_by=by)


def refuse_over(name: str, plan: SchedulePlan, row: ScheduleRow, fix: str = "correct it") -> None:
    """For people, who would wait in vain."""
    if row.next_at is not None:
        return
    if plan.limit is not None and row.fires >= plan.limit:
        raise ConfigError(f"limit={plan.limit} is reached: the schedule {name!r} has fired that often; {fix}")
    end = "" if plan.timing.end is None else f" before its end, {from_us(plan.timing.end).isoformat()}"
    raise ConfigError(f"the schedule {name!r} would never fire: there is no time for it after now{end}; {fix}")
