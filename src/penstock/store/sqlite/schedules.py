"""Schedules: read, found when they are due, and changed together with the jobs of their ticks."""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

from penstock.store import params as p
from penstock.store.schedules import audit_detail, jobs_of, last_jobs, other_holders
from penstock.store.sqlite.coordinate import check_term
from penstock.store.sqlite.enqueue import enqueue_jobs
from penstock.store.sqlite.statements import sql
from penstock.store.sqlite.tx import Tx, as_json, fetch


def read_schedules(db: apsw.Connection, now: int, read: p.ReadSchedules) -> p.Schedules:
    names = None if read.names is None else as_json(read.names)
    return p.Schedules(now, _rows(fetch(db, sql("read_schedules"), {"names": names})))


def due_schedules(db: apsw.Connection, now: int, due: p.DueSchedules) -> p.Schedules:
    found = fetch(db, sql("due_schedules"), {"now": now, "limit": due.limit, "but": as_json(due.but)})
    return p.Schedules(now, _rows(found), db.execute(sql("next_schedule"), {"now": now}).get)


def _rows(found: list[tuple[Any, ...]]) -> list[p.ScheduleRow]:
    return [p.ScheduleRow(**dict(zip(p.ScheduleRow.__struct_fields__, row, strict=True))) for row in found]


def change_schedules(tx: Tx, change: p.ChangeSchedules) -> dict[str, str | None]:
    check_term(tx, change.term)
    stored = [one for one in change.changes if _store(tx, one)]
    jobs = jobs_of(stored)
    last = last_jobs(stored, enqueue_jobs(tx, jobs, strict=change.actor is not None) if jobs else [])
    for name, job_id in other_holders(stored, last):
        tx.change("note_schedule_job", name=name, job=job_id)
    if change.actor is not None and stored:
        detail = as_json(audit_detail(stored))
        tx.change("audit", now=tx.now, actor=change.actor, action=f"schedule {change.action}", detail=detail)
    return last


def _store(tx: Tx, one: p.ScheduleChange) -> bool:
    """Whether the schedule was as it was taken to be."""
    if one.row is None:
        return bool(tx.change("delete_schedule", name=one.name, before=one.revision))
    row = msgspec.structs.asdict(one.row)
    if one.revision is None:
        return bool(tx.change("insert_schedule", **{**row, "revision": one.row.changed_at}))
    return bool(tx.change("update_schedule", **{**row, "revision": one.revision + 1}, before=one.revision))
