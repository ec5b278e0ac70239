"""Schedules: jobs that are enqueued by the clock. What is due when is reckoned above the store, which keeps the result.

Every write of a schedule carries the revision that it was made from, and is dropped if the schedule has another by
then. So whoever reckons may be slow, stopped or wrong about leading: a tick is taken once, and no edit is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import ConfigError
from penstock.domain.flow.gates import Gate
from penstock.domain.schedule.timing import Timing, check_timing
from penstock.store.call import Call
from penstock.store.contract.happened import Happened
from penstock.store.contract.queue import JobSpec, NewJob

TAG = "schedule:"
Misfire = Literal["once", "skip", "all"]
ScheduleStatus = Literal["active", "paused", "removed"]


class SchedulePlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is enqueued when: all that a person or a program decides about a schedule.

    Of ticks that nobody was there for, `once` makes one job of the last, `skip` one only if that is at most `grace`
    seconds ago, `all` one of each. `limit` is how often it fires at most.
    """

    timing: Timing
    payload: str
    spec: JobSpec
    gates: tuple[Gate, ...] = ()
    misfire: Misfire = "once"
    grace: float = 60.0
    limit: int | None = None


class ScheduleRow(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule as it is stored. `plan` and `declared` are a SchedulePlan in JSON, maybe of a later version.

    `next_at` is its next tick; None when it has none any more. `declared` is what a program has declared last, whatever
    a person made of it since; None for one that a person has added. Intervals are counted from the `anchor`. One that
    is declared and was removed stays, so that it is not added again.
    """

    name: str
    plan: str
    status: ScheduleStatus = "active"
    next_at: int | None = None
    fires: int = 0
    anchor: int = 0
    last_at: int | None = None
    last_job: str | None = None
    declared: str | None = None
    created_at: int = 0
    changed_at: int = 0
    changed_by: str = "client"
    revision: int = 0


_plan = msgspec.json.Decoder(SchedulePlan).decode


def decode_plan(row: ScheduleRow) -> SchedulePlan:
    """The plan of a stored schedule, or an error that names it."""
    try:
        return _plan(row.plan)
    except (msgspec.MsgspecError, ConfigError) as error:
        raise ConfigError(
            f"the plan of the schedule {row.name!r} cannot be read ({error}): another version of penstock has stored "
            f"it; use that one, or replace it: penstock schedules remove {row.name}"
        ) from None


def plan_problem(row: ScheduleRow) -> str | None:
    """Why a stored schedule cannot be fired here, if it cannot."""
    try:
        plan = decode_plan(row)
    except ConfigError as error:
        return str(error)
    try:
        check_timing(plan.timing)
    except ConfigError as error:
        return f"its times cannot be reckoned here: {error}"
    return None


def job_of_plan(name: str, plan: SchedulePlan, tick: int) -> JobSpec:
    """What is enqueued for a tick: due then, and tagged with the name of the schedule."""
    due_at = tick + int(plan.spec.delay * MICROSECONDS)
    return msgspec.structs.replace(plan.spec, at=due_at, delay=0.0, tags=(*plan.spec.tags, f"{TAG}{name}"))


class ReadSchedules(msgspec.Struct, frozen=True):
    """All, or those of these names; also those that were removed and are remembered."""

    names: tuple[str, ...] | None = None


class DueSchedules(msgspec.Struct, frozen=True):
    """Active ones whose tick has come, the oldest first, `limit` at most; but not these, by name and revision."""

    limit: int = 100
    but: tuple[tuple[str, int], ...] = ()


class SchedulePage(msgspec.Struct, frozen=True):
    """`now` is the moment by the store's clock; `next_at` the next tick of the others, where it was asked for."""

    now: int
    schedules: list[ScheduleRow]
    next_at: int | None = None


class ScheduleChange(msgspec.Struct, frozen=True):
    """A schedule as it shall be; None removes it. `revision` is the one that it was made from; None: it is new.

    `jobs` are enqueued with it. The id of the last of them becomes `last_job`.
    """

    name: str
    row: ScheduleRow | None
    revision: int | None
    jobs: tuple[NewJob, ...] = ()


class ChangeSchedules(msgspec.Struct, frozen=True):
    """The `term` of a leader fences it; an `actor`, a person who asks, has none and is audited with the `action`."""

    changes: Sequence[ScheduleChange]
    term: int | None = None
    actor: str | None = None
    action: str = "change"


class SchedulesChanged(msgspec.Struct, frozen=True):
    """Those that were stored, by name: each with the id of the last of its jobs, or of the job that holds its unique
    key; None without jobs.
    """

    last: dict[str, str | None]
    happened: Sequence[Happened] = ()


class Schedules(Protocol):
    """Schedules: what is enqueued by the clock."""

    def read_schedules(self, params: ReadSchedules) -> Call[SchedulePage]:
        """Schedules by name, and the store's moment, in one consistent view."""
        ...

    def due_schedules(self, params: DueSchedules) -> Call[SchedulePage]:
        """A page of those whose tick has come by the store's clock, and when the next of the others comes."""
        ...

    def change_schedules(self, params: ChangeSchedules) -> Call[SchedulesChanged]:
        """Store changes of schedules, each together with its jobs. Answers which were stored.

        One whose schedule does not have the revision that the change was made from is left out, with its jobs: of
        several who do the same, at the same time or long after, one succeeds. The term of a leader that was replaced
        means NotLeader, and changes nothing. What a person does is audited.
        """
        ...
