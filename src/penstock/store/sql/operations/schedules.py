"""Schedules: read, found when they are due, and changed together with the jobs of their ticks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from penstock.store import contract as p
from penstock.store.sql.engine import Engine
from penstock.store.sql.operations.audit import audit
from penstock.store.sql.operations.term import check_term
from penstock.store.sql.steps import Rows, Steps, as_json, run


def read_schedules(read: p.ReadSchedules) -> Steps[p.SchedulePage]:
    rows = yield from run("read_schedules", names=None if read.names is None else list(read.names))
    return p.SchedulePage(rows[0][0], _rows(row[1:] for row in rows))


def due_schedules(due: p.DueSchedules) -> Steps[p.SchedulePage]:
    but, revisions = [name for name, _ in due.but], [revision for _, revision in due.but]
    rows = yield from run("due_schedules", limit=due.limit, but=but, revisions=revisions)
    return p.SchedulePage(rows[0][0], _rows(row[2:] for row in rows), rows[0][1])


def _rows(rows: Iterable[tuple[Any, ...]]) -> list[p.ScheduleRow]:
    """There is one row without a name where there is no schedule."""
    names = p.ScheduleRow.__struct_fields__
    return [p.ScheduleRow(**dict(zip(names, row, strict=True))) for row in rows if row[0] is not None]


def change_schedules(engine: Engine, change: p.ChangeSchedules) -> Steps[p.SchedulesChanged]:
    yield from check_term(change.term)
    yield from engine.hold_schedules([one.name for one in change.changes])
    names = yield from _store(change.changes)
    stored = [one for one in change.changes if one.name in names]
    jobs = _jobs_of(stored)
    last = _last_jobs(stored, (yield from engine.enqueue(jobs, strict=change.actor is not None)) if jobs else [])
    for name, job_id in _other_holders(stored, last):
        yield from run("note_schedule_job", name=name, job=job_id)
    if change.actor is not None and stored:
        yield from audit(change.actor, f"schedule {change.action}", _audit_detail(stored))
    return p.SchedulesChanged(last, engine.happened)


def _store(changes: Sequence[p.ScheduleChange]) -> Steps[set[str]]:
    """The names of the schedules that were as they were taken to be."""
    gone = [one for one in changes if one.row is None]
    found: Rows = []
    for statement, is_new in (("insert_schedules", True), ("update_schedules", False)):
        rows = [_with_revision(one) for one in changes if one.row is not None and (one.revision is None) is is_new]
        if rows:
            found += yield from run(statement, rows=as_json(rows))
    if gone:
        names, revisions = [one.name for one in gone], [one.revision for one in gone]
        found += yield from run("delete_schedules", names=names, revisions=revisions)
    return {name for (name,) in found}


def _with_revision(one: p.ScheduleChange) -> p.ScheduleRow:
    """The row with the revision that it was made from, which is compared, or with that of a new one."""
    assert one.row is not None
    return msgspec.structs.replace(one.row, revision=one.row.changed_at if one.revision is None else one.revision)


def _jobs_of(changes: Sequence[p.ScheduleChange]) -> list[p.NewJob]:
    return [job for one in changes for job in one.jobs]


def _last_jobs(changes: Sequence[p.ScheduleChange], answers: Sequence[p.Enqueued]) -> dict[str, str | None]:
    """The last job of each, as it was answered: the one that holds its unique key, if that has refused it."""
    answered = iter(answers)
    ids = {one.name: [next(answered).id for _ in one.jobs] for one in changes}
    return {name: found[-1] if found else None for name, found in ids.items()}


def _other_holders(changes: Sequence[p.ScheduleChange], last: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """The schedules whose last job was not stored, with the job that holds its unique key."""
    for one in changes:
        found = last[one.name]
        if found is not None and found != one.jobs[-1].id:
            yield one.name, found


def _audit_detail(changes: Sequence[p.ScheduleChange]) -> dict[str, Any]:
    """What a person has done to a schedule; its payload is not repeated."""
    return {
        "schedules": [
            {"name": one.name, "status": one.row.status if one.row else "removed", "jobs": [job.id for job in one.jobs]}
            for one in changes
        ]
    }
