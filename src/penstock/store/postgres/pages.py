"""Where jobs are found: pages where those of a state are few or in order, then read one by one by their keys.

Every answer is one statement and so one consistent view. The texts are put together from fixed parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.domain.ids import is_id
from penstock.domain.job import FINAL, State, StateCode
from penstock.store import contract as p
from penstock.store.postgres.connection.statements import DEFAULT_SCHEMA, sql
from penstock.store.sql.steps import Rows, Steps, run_text, value

# Up to this many waiting jobs are looked at and put in order; the pending ones among more are met in the order of ids.
WAITING_FEW = 10_000

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

# By key or by when they ended: where an index finds them.
_BEFORE = "id < %(before)s::uuid"
_KEYED = """(
    SELECT job.id FROM penstock.job
    WHERE gates IS NOT NULL AND gates::jsonb -> {place} ->> 0 = {name}::text || %(key)s::text AND {before}
    ORDER BY gates::jsonb -> {place} ->> 0 DESC, id DESC LIMIT %(looked)s::bigint
)"""
_HOLDER = "(SELECT unique_key.id FROM penstock.unique_key WHERE unique_key.key = %(key)s::text AND {before})"
# The last that have ended in a state. A page begins where the one before has ended: after a moment and an id.
_LAST_ENDED = """(
    SELECT outcome.id, outcome.finished_at FROM penstock.outcome
    WHERE outcome.state = {code} AND {before}
    ORDER BY outcome.finished_at DESC, outcome.id DESC LIMIT %(looked)s::bigint
)"""
_ENDED_BEFORE = """(outcome.finished_at, outcome.id) < (
        SELECT last.finished_at, last.id FROM penstock.outcome AS last WHERE last.id = %(before)s::uuid
    )"""
_STATE = f"""CASE
        WHEN EXISTS (SELECT 1 FROM penstock.outcome WHERE outcome.id = it.id)
            THEN (SELECT outcome.state::text FROM penstock.outcome WHERE outcome.id = it.id)
        WHEN EXISTS (SELECT 1 FROM penstock.lease WHERE lease.id = it.id AND lease.started_at IS NULL) THEN 'claimed'
        WHEN EXISTS (SELECT 1 FROM penstock.lease WHERE lease.id = it.id) THEN 'running'
        WHEN EXISTS (SELECT 1 FROM penstock.parked WHERE parked.id = it.id) THEN 'blocked'
        WHEN (SELECT job.due_at FROM penstock.job WHERE job.id = it.id) > {_NOW} THEN 'scheduled'
        ELSE 'pending'
    END = ANY (%(states)s::text[])"""


# How many have ended in each state: by the lane of each job, or by an index alone.
_HOW_MANY = {
    p.ALL_JOBS: "SELECT job.lane, NULL, outcome.state, count(*) FROM penstock.outcome"
    " JOIN penstock.job ON job.id = outcome.id GROUP BY 1, 3",
    p.ALL_STATES: "SELECT NULL::integer, NULL, outcome.state, count(*) FROM penstock.outcome GROUP BY 3",
}


class PostgresPages:
    """The pages of ids, for the statement that reads their jobs."""

    def job(self, job_id: str) -> Steps[Rows]:
        return _jobs((yield from _read("SELECT %(id)s::uuid AS id, NULL AS total", "page.id", {"id": job_id})))

    def jobs(self, asked: p.ListJobs) -> Steps[Rows]:
        parts, bindings = _filters(asked)
        bindings |= {"before": asked.before, "limit": asked.limit}
        if asked.key is not None or asked.sort == "finished":
            page, order = _paged(asked, parts)
            bindings |= {"key": asked.key, "looked": asked.looks_at, "states": _codes_of(asked.states)}
            return _jobs((yield from _read(page, order, bindings)))
        sources: list[str] = [_ANY_STATE]
        if asked.states is not None:
            few = State.PENDING in asked.states and (yield from _few_wait())
            sources = list(_sources(asked.states, few))
            bindings["ended"] = sorted(StateCode[state.name] for state in asked.states & FINAL)
        if not sources:
            return []
        page = _newest([source.format(where=_where(source, parts, asked.before)) for source in sources])
        return _jobs((yield from _read(page, "page.id DESC", bindings)))

    def dead(self, asked: p.ListDead) -> Steps[tuple[Rows, int]]:
        matching, bindings = dead_matching(asked.filter)
        page = sql("page_of_dead", DEFAULT_SCHEMA).format(matching=matching)
        bindings |= {"limit": asked.limit, "offset": asked.offset}
        found = yield from _read(page, "page.finished_at DESC, page.id DESC", bindings)
        return _jobs(found), found[0][-1]

    def counts(self, asked: p.CountJobs) -> Steps[Rows]:
        if asked in _HOW_MANY:
            text = sql("count_jobs", DEFAULT_SCHEMA).format(ended=_HOW_MANY[asked])
            rows = yield from run_text("count_jobs", text)
        else:
            parts, bindings = _filters(asked)
            text = sql("count_jobs_of", DEFAULT_SCHEMA).format(where=" AND ".join(parts) or "true")
            rows = yield from run_text("count_jobs_of", text, **bindings)
        return [
            (type_, queue, state if code is None else code, jobs, *(more or (None, None)))
            for type_, queue, state, code, jobs, *more in rows
        ]


PAGES = PostgresPages()


def _read(page: str, order: str, bindings: dict[str, Any]) -> Steps[Rows]:
    return run_text("read_jobs", sql("read_jobs", DEFAULT_SCHEMA).format(page=page, order=order), **bindings)


def _jobs(rows: Rows) -> Rows:
    """Without the last column, which is the total, and without the row that carries it alone."""
    return [row[:-1] for row in rows if row[0] is not None]


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


def _codes_of(states: Iterable[State] | None) -> list[str]:
    """States as `_STATE` names them."""
    return [str(StateCode[state.name].value) if state in FINAL else state.value for state in states or ()]


def _paged(asked: p.ListJobs, parts: list[str]) -> tuple[str, str]:
    """Where an index finds them: the statement that finds the ids of a page, and the order of it."""
    finished = asked.sort == "finished"
    tests = [f"(SELECT true FROM penstock.job WHERE job.id = it.id AND {' AND '.join(parts)})"] if parts else []
    if asked.key is None:
        found = _ended(asked)
    else:
        found = _keyed(asked.before is not None and not finished, finished)
        tests += [_STATE] if asked.states is not None else []
        tests += [_ENDED_BEFORE.replace("outcome.", "it.")] if finished and asked.before is not None else []
    order = "finished_at DESC, id DESC" if finished else "id DESC"
    page = (
        f"SELECT it.id, NULL AS total, it.finished_at FROM ({found}) AS it WHERE {' AND '.join(tests) or 'true'} "
        f"ORDER BY {order} LIMIT %(limit)s::bigint"
    )
    return page, ", ".join(f"page.{one}" for one in order.split(", "))


def _ended(asked: p.ListJobs) -> str:
    before = _ENDED_BEFORE if asked.before is not None else "true"
    states = FINAL if asked.states is None else asked.states & FINAL
    codes = sorted(StateCode[state.name].value for state in states)
    each = " UNION ALL ".join(_LAST_ENDED.format(code=code, before=before) for code in codes)
    return each or "SELECT NULL::uuid AS id, NULL::bigint AS finished_at WHERE false"


def _keyed(before: bool, finished: bool) -> str:
    test = _BEFORE if before else "true"
    each = [_KEYED.format(place=place, name=name, before=test) for place in (0, 1) for name in ("'key:'", "'rate:'")]
    ids = " UNION ".join([*each, _HOLDER.format(before=test)])
    joined = "JOIN penstock.outcome ON outcome.id = keyed.id" if finished else ""
    when = "outcome.finished_at" if finished else "NULL::bigint AS finished_at"
    return f"SELECT keyed.id, {when} FROM ({ids}) AS keyed {joined}"
