"""Reading jobs: one statement that finds a job's pointer wherever it is, and filters made of fixed texts."""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

from penstock.domain.gates import Limit
from penstock.domain.job import Job, State, Transition
from penstock.domain.options import Options, Tenant
from penstock.store import params as p
from penstock.store.declared import make_options
from penstock.store.planned import counts_of, list_planned, page_of, read_planned
from penstock.store.rows import JobColumns, make_job, make_transition, make_waiting
from penstock.store.sqlite import pages
from penstock.store.sqlite.errors import no_lane
from penstock.store.sqlite.statements import sql
from penstock.store.sqlite.tx import fetch
from penstock.store.sqlite.workflows import look
from penstock.store.unreadable import part, readable_jobs

_TENANT, _TAGS = JobColumns._fields.index("tenant"), JobColumns._fields.index("tags")
_tenant = msgspec.json.Decoder(Tenant).decode
_tags = msgspec.json.Decoder(tuple[str, ...]).decode

_NEWEST_FIRST = "job.id DESC"
# Jobs whose time-to-live is over and that nobody has moved yet. Usually there are none: a leader sees to that.
_OVERDUE = (
    "SELECT late.seq FROM penstock_ttl AS ttl"
    " JOIN penstock_job AS late ON late.id = ttl.id AND late.due_at = ttl.due_at AND late.attempt = 0"
    " WHERE ttl.expires_at <= :now"
    " AND NOT EXISTS (SELECT 1 FROM penstock_lease AS held WHERE held.seq = late.seq)"
    " AND NOT EXISTS (SELECT 1 FROM penstock_outcome AS ended WHERE ended.seq = late.seq)"
)
# Where the jobs of a state are found when there are usually few of them.
_FEW = {
    State.CLAIMED: "SELECT seq FROM penstock_lease WHERE started_at IS NULL",
    State.RUNNING: "SELECT seq FROM penstock_lease WHERE started_at IS NOT NULL",
    State.SCHEDULED: "SELECT seq FROM penstock_scheduled WHERE due_at > :now",
    State.BLOCKED: f"SELECT seq FROM penstock_parked WHERE seq NOT IN ({_OVERDUE})",
    State.DEAD: "SELECT seq FROM penstock_outcome WHERE state = 2",
    State.CANCELLED: "SELECT seq FROM penstock_outcome WHERE state = 3",
    State.EXPIRED: f"SELECT seq FROM penstock_outcome WHERE state = 4 UNION ALL {_OVERDUE}",
}
_MANY = {
    State.PENDING: "(lease.token IS NULL AND outcome.state IS NULL AND job.due_at <= :now AND parked.gate IS NULL"
    f" AND job.seq NOT IN ({_OVERDUE}))",
    State.COMPLETED: "(outcome.state = 1)",
}

_ASKED = {
    "type": "lane.type = :type",
    "queue": "lane.queue = :queue",
    "tenant": "job.tenant ->> 'org' = :tenant",
    "workspace": "job.tenant ->> 'workspace' = :workspace",
    "parent": "job.parent = :parent",
    "tag": "EXISTS (SELECT 1 FROM json_each(job.tags) AS tag WHERE tag.value = :tag)",
}


def read_job(db: apsw.Connection, now: int, job_id: str) -> Job | None:
    """A job that is stored, or only planned by a workflow."""
    rows = _rows(db, now, "job.id = :id", _NEWEST_FIRST, {"id": job_id}, limit=1)
    return _job(rows[0], now) if rows else look(db, now, read_planned(job_id))


def list_jobs(db: apsw.Connection, now: int, params: p.ListJobs) -> list[Job]:
    planned = look(db, now, list_planned(params))
    parts, bindings = _common(params)
    order = _NEWEST_FIRST
    if params.key is not None or params.sort == "finished":
        found, order = pages.page_of(params)
        parts.append(found)
        bindings |= {"key": params.key, "looked": params.looks_at, "before": params.before}
    elif params.before is not None:
        parts.append("job.id < :before")
        bindings["before"] = params.before
    if params.states is not None:
        few = " UNION ALL ".join(_FEW[state] for state in params.states if state in _FEW)
        tests = [_MANY[state] for state in params.states if state in _MANY]
        parts.append(
            "(" + " OR ".join([*tests, *([f"job.seq IN ({few})"] if few else [])]) + ")" if params.states else "false"
        )
    stored = _jobs(db, now, " AND ".join(parts) or "true", order, bindings, limit=params.limit)
    return page_of(stored, planned, params.limit) if planned else stored


def list_dead(db: apsw.Connection, now: int, params: p.ListDead) -> p.DeadPage:
    where, bindings = dead_where(params.filter)
    total = db.execute(sql("count_dead").format(where=where), bindings).get
    order = "outcome.finished_at DESC, job.seq DESC"
    return p.DeadPage(_jobs(db, now, where, order, bindings, params.limit, params.offset), total)


def dead_where(filter: p.DeadFilter) -> tuple[str, dict[str, Any]]:
    """The condition of a dead letter filter, over job, lane and outcome."""
    parts, bindings = _common(filter)
    parts.append("outcome.state IN (2, 4)")
    if not filter.retried:
        parts.append("outcome.retried_as IS NULL")
    if filter.ids is not None:
        parts.append("job.id IN (SELECT value FROM json_each(:ids))")
        bindings["ids"] = msgspec.json.encode(filter.ids).decode()
    if filter.error is not None:
        parts.append("instr(coalesce(job.error, ''), :error) > 0")
        bindings["error"] = filter.error
    if filter.before_us is not None:
        parts.append("outcome.finished_at < :ended_before")
        bindings["ended_before"] = filter.before_us
    return " AND ".join(parts), bindings


def _common(filter: p.JobFilter) -> tuple[list[str], dict[str, Any]]:
    """Conditions on a job and its lane, and their values."""
    bindings = {name: getattr(filter, name) for name in _ASKED if getattr(filter, name) is not None}
    return [_ASKED[name] for name in bindings], bindings


def _jobs(
    db: apsw.Connection, now: int, where: str, order: str, bindings: dict[str, Any], limit: int, offset: int = 0
) -> list[Job]:
    rows = _rows(db, now, where, order, bindings, limit, offset)
    return readable_jobs(rows, lambda row: _job(row, now))


def _rows(
    db: apsw.Connection, now: int, where: str, order: str, bindings: dict[str, Any], limit: int, offset: int = 0
) -> list[Any]:
    statement = sql("read_jobs").format(where=where, order=order)
    return fetch(db, statement, {**bindings, "now": now, "limit": limit, "offset": offset})


def _job(row: tuple[Any, ...], now: int) -> Job:
    columns = JobColumns(*row)
    if columns.type is None:  # The lane is missing, which must never be.
        raise no_lane(columns.id)
    tenant = part(_tenant, row[_TENANT], "tenant", columns.id)
    return make_job(columns._replace(tenant=tenant, tags=part(_tags, row[_TAGS], "tags", columns.id)), now)


def count_jobs(db: apsw.Connection, now: int, params: p.CountJobs) -> list[p.Count]:
    if params == p.ALL_JOBS:
        rows = [(*row, None, None) for row in fetch(db, sql("count_jobs").format(overdue=_OVERDUE), {"now": now})]
    else:
        parts, bindings = _common(params)
        rows = fetch(
            db,
            sql("count_jobs_of").format(where=" AND ".join(parts) or "true", overdue=_OVERDUE),
            {**bindings, "now": now},
        )
    return counts_of(rows, params)


def count_queues(db: apsw.Connection) -> int:
    counted: int = db.execute(sql("count_queues")).get
    return counted


def count_waiting(db: apsw.Connection, now: int, params: p.CountWaiting) -> list[p.Waiting]:
    return [make_waiting(*row) for row in fetch(db, sql("count_waiting"), {"now": now, "limit": params.limit})]


def read_clock(db: apsw.Connection, now: int) -> int:
    fetch(db, sql("ping"), {})  # The clock is this machine's; that the store answers is what the caller wants to know.
    return now


def read_history(db: apsw.Connection, job_id: str) -> list[Transition]:
    return [make_transition(job_id, *row) for row in fetch(db, sql("read_history"), {"id": job_id})]


def read_types(db: apsw.Connection, now: int) -> dict[str, Options]:
    return make_options(fetch(db, sql("read_types"), {}))


def read_limits(db: apsw.Connection, now: int) -> list[Limit]:
    return [Limit(*row) for row in fetch(db, sql("read_limits"), {})]
