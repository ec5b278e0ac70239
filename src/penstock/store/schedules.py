"""What the SQL engines say and reckon alike about changes of schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from penstock.store.params import Enqueued, NewJob, ScheduleChange


def jobs_of(changes: Sequence[ScheduleChange]) -> list[NewJob]:
    return [job for one in changes for job in one.jobs]


def other_holders(changes: Sequence[ScheduleChange], answers: Sequence[Enqueued]) -> Iterator[tuple[str, str]]:
    """The schedules whose last job was not stored, since its unique key is held, with the job that holds it."""
    answered = iter(answers)
    for one in changes:
        for job, answer in [(job, next(answered)) for job in one.jobs][-1:]:
            if answer.id != job.id:
                yield one.name, answer.id


def audit_detail(changes: Sequence[ScheduleChange]) -> dict[str, Any]:
    """What a person has done to a schedule; its payload is not repeated."""
    return {
        "schedules": [
            {"name": one.name, "status": one.row.status if one.row else "removed", "jobs": [job.id for job in one.jobs]}
            for one in changes
        ]
    }
