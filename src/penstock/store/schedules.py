"""What the SQL engines say and reckon alike about changes of schedules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from penstock.store.params import Enqueued, NewJob, ScheduleChange


def jobs_of(changes: Sequence[ScheduleChange]) -> list[NewJob]:
    return [job for one in changes for job in one.jobs]


def last_jobs(changes: Sequence[ScheduleChange], answers: Sequence[Enqueued]) -> dict[str, str | None]:
    """The last job of each, as it was answered: the one that holds its unique key, if that has refused it."""
    answered = iter(answers)
    ids = {one.name: [next(answered).id for _ in one.jobs] for one in changes}
    return {name: found[-1] if found else None for name, found in ids.items()}


def other_holders(changes: Sequence[ScheduleChange], last: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """The schedules whose last job was not stored, with the job that holds its unique key."""
    for one in changes:
        found = last[one.name]
        if found is not None and found != one.jobs[-1].id:
            yield one.name, found


def audit_detail(changes: Sequence[ScheduleChange]) -> dict[str, Any]:
    """What a person has done to a schedule; its payload is not repeated."""
    return {
        "schedules": [
            {"name": one.name, "status": one.row.status if one.row else "removed", "jobs": [job.id for job in one.jobs]}
            for one in changes
        ]
    }
