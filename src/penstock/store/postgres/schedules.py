"""Schedules: read, found when they are due, and changed together with the jobs of their ticks."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.store import params as p
from penstock.store.postgres.coordinate import check_term
from penstock.store.postgres.enqueue import enqueue_steps
from penstock.store.postgres.steps import Rows, Steps, run
from penstock.store.schedules import audit_detail, jobs_of, last_jobs, other_holders


def read_steps(read: p.ReadSchedules) -> Steps[p.Schedules]:
    rows = yield from run("read_schedules", names=None if read.names is None else list(read.names))
    return p.Schedules(rows[0][0], _rows(rows, 1))


def due_steps(due: p.DueSchedules) -> Steps[p.Schedules]:
    but, revisions = [name for name, _ in due.but], [revision for _, revision in due.but]
    rows = yield from run("due_schedules", limit=due.limit, but=but, revisions=revisions)
    return p.Schedules(rows[0][0], _rows(rows, 2), rows[0][1])


def _rows(rows: Rows, first: int) -> list[p.ScheduleRow]:
    """There is one row without a name where there is no schedule."""
    names = p.ScheduleRow.__struct_fields__
    return [p.ScheduleRow(**dict(zip(names, row[first:], strict=True))) for row in rows if row[first] is not None]


def change_steps(change: p.ChangeSchedules) -> Steps[dict[str, str | None]]:
    yield from check_term(change.term)
    yield from run("lock_schedules", names=sorted(one.name for one in change.changes))
    names = yield from _store(change.changes)
    stored = [one for one in change.changes if one.name in names]
    jobs = jobs_of(stored)
    last = last_jobs(stored, (yield from enqueue_steps(jobs, strict=change.actor is not None)) if jobs else [])
    for name, job_id in other_holders(stored, last):
        yield from run("note_schedule_job", name=name, job=job_id)
    if change.actor is not None and stored:
        detail = msgspec.json.encode(audit_detail(stored)).decode()
        yield from run("audit", actor=change.actor, action=f"schedule {change.action}", detail=detail)
    return last


def _store(changes: Sequence[p.ScheduleChange]) -> Steps[set[str]]:
    """The names of the schedules that were as they were taken to be."""
    gone = [one for one in changes if one.row is None]
    found: Rows = []
    for statement, is_new in (("insert_schedules", True), ("update_schedules", False)):
        rows = [_with_revision(one) for one in changes if one.row is not None and (one.revision is None) is is_new]
        if rows:
            found += yield from run(statement, rows=msgspec.json.encode(rows).decode())
    if gone:
        names, revisions = [one.name for one in gone], [one.revision for one in gone]
        found += yield from run("delete_schedules", names=names, revisions=revisions)
    return {name for (name,) in found}


def _with_revision(one: p.ScheduleChange) -> p.ScheduleRow:
    """The row with the revision that it was made from, which is compared, or with that of a new one."""
    assert one.row is not None
    return msgspec.structs.replace(one.row, revision=one.row.changed_at if one.revision is None else one.revision)
