"""Reading jobs: pages are found where the jobs of a state are few or in order, then read one by one by their keys.

Every answer is one statement and so one consistent view. The texts are put together from fixed parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import ConfigError
from penstock.domain.ids import check_id
from penstock.domain.job import FINAL, Job, State, StateCode, Transition
from penstock.domain.options import Options, Resources, Tenant
from penstock.store import params as p
from penstock.store.declared import make_options
from penstock.store.planned import counts_of, list_planned, page_of, read_planned
from penstock.store.postgres import pages
from penstock.store.postgres.statements import DEFAULT_SCHEMA, sql
from penstock.store.postgres.steps import Rows, Steps, run, run_text, value
from penstock.store.postgres.workflows import carry_out
from penstock.store.rows import (
    WORKERS_LISTED,
    JobColumns,
    make_job,
    make_transition,
    make_waiting,
)
from penstock.store.unreadable import readable_jobs
from penstock.store.unroutable import read_offer, read_status

# Up to this many waiting jobs are looked at and put in order; the pending ones among more are met in the order of ids.
WAITING_FEW = 10_000

_ORG = JobColumns._fields.index("tenant")
_NOW = "penstock.moment(%(now)s::bigint)"
_IN_TIME = f"(it.expires_at IS NULL OR it.expires_at > {_NOW})"
# Where the ids of jobs in some states are; {where} narrows them down. Scalar subqueries stay lookups by key: a join
# could become one that reads whole tables before the first job is found.
_ANY_STATE = "SELECT job.id FROM penstock.job WHERE {where}"
_PENDING_AMONG_MANY = f"""SELECT job.id FROM penstock.job
    WHERE job.due_at <= {_NOW} AND {{where}}
        AND (SELECT lease.token FROM penstock.lease WHERE lease.id = job.id) IS NULL
        AND (SELECT parked.gate FROM penstock.parked WHERE parked.id = job.id) IS NULL
        AND (
            SELECT waiting.expires_at FROM penstock.waiting
            WHERE waiting.lane = job.lane AND waiting.due_at = job.due_at AND waiting.id = job.id
        ) <= {_NOW} IS NOT TRUE
        AND (SELECT outcome.state FROM penstock.outcome WHERE outcome.id = job.id) IS NULL"""
_PENDING_AMONG_FEW = f"SELECT it.id FROM penstock.waiting AS it WHERE it.due_at <= {_NOW} AND {_IN_TIME} AND {{where}}"
_SCHEDULED = f"""SELECT it.id FROM penstock.lane
    CROSS JOIN LATERAL (
        SELECT waiting.id FROM penstock.waiting WHERE waiting.lane = lane.lane AND waiting.due_at > {_NOW}
    ) AS it
    WHERE {{where}}"""
_CLAIMED = "SELECT it.id FROM penstock.lease AS it WHERE it.started_at IS NULL AND {where}"
_RUNNING = "SELECT it.id FROM penstock.lease AS it WHERE it.started_at IS NOT NULL AND {where}"
_BLOCKED = f"SELECT it.id FROM penstock.parked AS it WHERE {_IN_TIME} AND {{where}}"
# Whose time is over, and that nobody has moved yet.
_OVERDUE = (
    f"SELECT it.id FROM penstock.waiting AS it WHERE it.expires_at <= {_NOW} AND {{where}}",
    f"SELECT it.id FROM penstock.parked AS it WHERE it.expires_at <= {_NOW} AND {{where}}",
)
_ENDED = "SELECT it.id FROM penstock.outcome AS it WHERE it.state = ANY (%(ended)s::smallint[]) AND {where}"
_BY_STATE = {State.SCHEDULED: _SCHEDULED, State.BLOCKED: _BLOCKED, State.CLAIMED: _CLAIMED, State.RUNNING: _RUNNING}
_OF_JOB = {
    "tenant": "job.org = %(tenant)s::text",
    "workspace": "job.workspace = %(workspace)s::text",
    "parent": "job.parent = %(parent)s::uuid",
    "tag": "%(tag)s::text = ANY (job.tags)",
}


# Jobs


def read_job(job_id: str) -> Steps[Job | None]:
    """A job that is stored, or only planned by a workflow."""
    if not is_id(job_id):
        return None
    rows = yield from _read_rows("SELECT %(id)s::uuid AS id, NULL AS total", "page.id", {"id": job_id})
    return _job(rows[0]) if rows and rows[0][0] is not None else (yield from carry_out(read_planned(job_id)))


def list_jobs(params: p.ListJobs) -> Steps[list[Job]]:
    parts, bindings = _filters(params)
    if params.before is not None:
        bindings["before"] = check_id(params.before)
    if params.key is not None or params.sort == "finished":
        page, order = pages.page_of(params, parts)
        bindings |= {"key": params.key, "looked": params.looks_at, "limit": params.limit}
        bindings["states"] = pages.codes_of(params.states)
        return (yield from _read_jobs(page, order, bindings))[0]
    planned = yield from carry_out(list_planned(params))
    sources: list[str] = [_ANY_STATE]
    if params.states is not None:
        few = State.PENDING in params.states and (yield from _few_wait())
        sources = list(_sources(params.states, few))
        bindings["ended"] = sorted(StateCode[state.name] for state in params.states & FINAL)
    if not sources:
        return []
    page = _newest([source.format(where=_where(source, parts, params.before)) for source in sources])
    jobs, _ = yield from _read_jobs(page, "page.id DESC", {**bindings, "limit": params.limit})
    return page_of(jobs, planned, params.limit)


def _few_wait() -> Steps[bool]:
    counted: int = yield from value("count_waiting_up_to", limit=WAITING_FEW + 1)
    return counted <= WAITING_FEW


def _sources(states: frozenset[State], few_wait: bool) -> Iterator[str]:
    if State.PENDING in states:
        yield _PENDING_AMONG_FEW if few_wait else _PENDING_AMONG_MANY
    yield from (_BY_STATE[state] for state in sorted(states) if state in _BY_STATE)
    if states & FINAL:
        yield _ENDED
    if State.EXPIRED in states:
        yield from _OVERDUE


def _where(source: str, parts: list[str], before: str | None) -> str:
    """The conditions on a job, asked of its row or, where the source is another table, looked up by its id."""
    if "FROM penstock.job" in source:
        return " AND ".join([*parts, *(["job.id < %(before)s::uuid"] if before is not None else [])]) or "true"
    asked = [f"(SELECT true FROM penstock.job WHERE job.id = it.id AND {' AND '.join(parts)})"] if parts else []
    return " AND ".join([*(["it.id < %(before)s::uuid"] if before is not None else []), *asked]) or "true"


def _newest(sources: list[str]) -> str:
    """The newest ids of several sources, of each no more than a page."""
    each = " UNION ALL ".join(f"({source} ORDER BY id DESC LIMIT %(limit)s::bigint)" for source in sources)
    return f"SELECT id, NULL AS total FROM ({each}) AS found ORDER BY id DESC LIMIT %(limit)s::bigint"


def list_dead(params: p.ListDead) -> Steps[p.DeadPage]:
    matching, bindings = dead_matching(params.filter)
    page = sql("page_of_dead", DEFAULT_SCHEMA).format(matching=matching)
    bindings |= {"limit": params.limit, "offset": params.offset}
    jobs, rows = yield from _read_jobs(page, "page.finished_at DESC, page.id DESC", bindings)
    return p.DeadPage(jobs, rows[0][-1])


def dead_matching(filter: p.DeadFilter) -> tuple[str, dict[str, Any]]:
    """FROM and WHERE of the dead letters that match, over outcome and, where it is asked about, job."""
    parts, bindings = _filters(filter)
    if filter.error is not None:
        parts.append("strpos(coalesce(job.error, ''), %(error)s::text) > 0")
        bindings["error"] = filter.error
    tables = "penstock.outcome" + (" JOIN penstock.job ON job.id = outcome.id" if parts else "")
    parts += ["outcome.state IN (2, 4)", "(%(retried)s::boolean OR outcome.retried_as IS NULL)"]
    bindings["retried"] = filter.retried
    if filter.ids is not None:
        parts.append("outcome.id = ANY (%(ids)s::uuid[])")
        bindings["ids"] = [job_id for job_id in filter.ids if is_id(job_id)]
    if filter.before_us is not None:
        parts.append("outcome.finished_at < %(ended_before)s::bigint")
        bindings["ended_before"] = filter.before_us
    return f"FROM {tables} WHERE {' AND '.join(parts)}", bindings


def _filters(filter: p.JobFilter) -> tuple[list[str], dict[str, Any]]:
    """Conditions on a row of job. Its lanes are looked up once, not for each row."""
    given = {name: getattr(filter, name) for name in p.JobFilter.__struct_fields__}
    asked = {name: value for name, value in given.items() if value is not None}
    lane = [f"lane.{name} = %({name})s::text" for name in ("type", "queue") if name in asked]
    parts = [f"job.lane = ANY (ARRAY (SELECT lane FROM penstock.lane WHERE {' AND '.join(lane)}))"] if lane else []
    return [*parts, *(text for name, text in _OF_JOB.items() if name in asked)], asked


def _read_jobs(page: str, order: str, bindings: dict[str, Any]) -> Steps[tuple[list[Job], Rows]]:
    """The jobs of a page, and its rows."""
    rows = yield from _read_rows(page, order, bindings)
    return readable_jobs((row for row in rows if row[0] is not None), _job), rows


def _read_rows(page: str, order: str, bindings: dict[str, Any]) -> Steps[Rows]:
    text = sql("read_jobs", DEFAULT_SCHEMA).format(page=page, order=order)
    return (yield from run_text("read_jobs", text, **bindings))


def _job(row: tuple[Any, ...]) -> Job:
    *columns, workspace, now, _ = row
    org = columns[_ORG]
    return make_job(JobColumns(*columns)._replace(tenant=None if org is None else Tenant(org, workspace)), now)


def is_id(job_id: str) -> bool:
    """Ids are stored in one spelling; whatever is spelt otherwise names no job."""
    try:
        return check_id(job_id) == job_id
    except ConfigError:
        return False


# Counts


def count_jobs(params: p.CountJobs) -> Steps[list[p.Count]]:
    if params == p.ALL_JOBS:
        rows = yield from run("count_jobs")
    else:
        parts, bindings = _filters(params)
        text = sql("count_jobs_of", DEFAULT_SCHEMA).format(where=" AND ".join(parts) or "true")
        rows = yield from run_text("count_jobs_of", text, **bindings)
    counted = (
        (type_, queue, state if code is None else code, jobs, *(more or (None, None)))
        for type_, queue, state, code, jobs, *more in rows
    )
    return counts_of(counted, params)


def count_queues() -> Steps[int]:
    counted: int = yield from value("count_queues")
    return counted


def count_waiting(params: p.CountWaiting) -> Steps[list[p.Waiting]]:
    rows = yield from run("count_waiting", limit=params.limit)
    return [make_waiting(*row) for row in rows]


def read_history(job_id: str) -> Steps[list[Transition]]:
    rows = (yield from run("read_history", id=job_id)) if is_id(job_id) else []
    return [make_transition(job_id, *row) for row in rows]


# Workers, types and the clock


def list_workers() -> Steps[list[p.WorkerInfo]]:
    rows = yield from run("list_workers", latest=WORKERS_LISTED)
    return [_worker(*row) for row in rows]


def _worker(
    session: int, id_: str, host: str, pid: int, version: str, status: str, slots: int, types: str,
    queues: str | None, capabilities: str, resources: str | None, started_at: int, heartbeat_at: int, silent: int,
    stale_after: int, jobs: int, health: str | None, failing: bool, unreached: bool, process: str | None,
    cpu: float, memory: int, gpu: float,
) -> p.WorkerInfo:  # fmt: skip
    offer = read_offer(id_, types, queues, capabilities, resources)
    return p.WorkerInfo(
        session=session,
        id=id_,
        host=host,
        pid=pid,
        version=version,
        status=read_status(id_, status),
        slots=slots,
        types=offer.types,
        queues=offer.queues,
        capabilities=offer.capabilities,
        resources=offer.resources,
        started_at=started_at,
        heartbeat_at=heartbeat_at,
        silent=silent / MICROSECONDS,
        stale_after=stale_after / MICROSECONDS,
        jobs=jobs,
        health=health,
        failing=failing,
        unreached=unreached,
        process=process,
        used=Resources(cpu, memory, gpu),
    )


def read_signals(params: p.ReadSignals) -> Steps[p.Signals]:
    [(current, cancelled, status, slots)] = yield from run(
        "read_signals", tokens=list(params.tokens), session=params.session
    )
    held, asked = set(current), set(cancelled)
    return p.Signals(
        cancelled=[token for token in params.tokens if token in asked],
        lost=[token for token in params.tokens if token not in held],
        status=status,
        slots=slots,
    )


def read_types() -> Steps[dict[str, Options]]:
    return make_options((yield from run("read_types")))


def read_clock() -> Steps[int]:
    now: int = yield from value("read_clock")
    return now
