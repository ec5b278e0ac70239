"""Where jobs are found: one statement that finds a job's pointer wherever it is, and filters made of fixed texts."""

from __future__ import annotations

from typing import Any

from penstock.domain.job import FINAL, State, StateCode
from penstock.store import contract as p
from penstock.store.sql.steps import Rows, Steps, run_text
from penstock.store.sqlite.connection.statements import sql
from penstock.store.sqlite.connection.tx import as_json

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

# How many have ended in each state: by the lane of each job, or by an index alone.
_HOW_MANY = {
    p.ALL_JOBS: "SELECT job.lane, outcome.state, count(*) FROM penstock_outcome AS outcome"
    " JOIN penstock_job AS job ON job.seq = outcome.seq GROUP BY 1, 2",
    p.ALL_STATES: "SELECT NULL, outcome.state, count(*) FROM penstock_outcome AS outcome GROUP BY 2",
}

_ASKED = {
    "type": "lane.type = :type",
    "queue": "lane.queue = :queue",
    "tenant": "job.org = :tenant",
    "workspace": "job.workspace = :workspace",
    "parent": "job.parent = :parent",
    "tag": "EXISTS (SELECT 1 FROM json_each(job.tags) AS tag WHERE tag.value = :tag)",
}

# By key or by when they ended: where an index finds them.
_KEYED = """SELECT * FROM (
    SELECT keyed.seq FROM penstock_job AS keyed
    WHERE keyed.gates IS NOT NULL AND keyed.gates ->> '$[{place}][0]' = '{kind}:' || :key AND {before}
    ORDER BY keyed.seq DESC LIMIT :looked
)"""
_HOLDER = """SELECT keyed.seq FROM penstock_unique_key AS held
    JOIN penstock_job AS keyed ON keyed.id = held.id
    WHERE held.key = :key AND {before}"""
# The last that have ended in a state. A page begins where the one before has ended: after a moment and a number.
_LAST_ENDED = """SELECT * FROM (
    SELECT ended.seq FROM penstock_outcome AS ended
    WHERE ended.state = {code} AND {before}
    ORDER BY ended.finished_at DESC, ended.seq DESC LIMIT :looked
)"""
_LAST = """(
        SELECT last.finished_at, last.seq FROM penstock_outcome AS last
        JOIN penstock_job AS one ON one.seq = last.seq WHERE one.id = :before
    )"""
_BY_END = "outcome.finished_at DESC, job.seq DESC"
# The plus keeps SQLite from walking all jobs in the order of their ids.
_BY_ID = "+job.id DESC"


class SqlitePages:
    """The conditions that jobs meet, and their order, for the statements that read them."""

    def job(self, job_id: str) -> Steps[Rows]:
        return _read("job.id = :id", _NEWEST_FIRST, {"id": job_id}, limit=1)

    def jobs(self, asked: p.ListJobs) -> Steps[Rows]:
        parts, bindings = _conditions(asked)
        order = _NEWEST_FIRST
        if asked.key is not None or asked.sort == "finished":
            found, order = _paged(asked)
            parts.append(found)
            bindings |= {"key": asked.key, "looked": asked.looks_at}
        elif asked.before is not None:
            parts.append("job.id < :before")
        if asked.states is not None:
            parts.append(_in_states(asked.states))
        return _read(_all(parts), order, {**bindings, "before": asked.before}, asked.limit)

    def dead(self, asked: p.ListDead) -> Steps[tuple[Rows, int]]:
        where, bindings = dead_where(asked.filter)
        [(total,)] = yield from run_text("count_dead", sql("count_dead").format(where=where), **bindings)
        return (yield from _read(where, _BY_END, bindings, asked.limit, asked.offset)), total

    def counts(self, asked: p.CountJobs) -> Steps[Rows]:
        if asked in _HOW_MANY:
            text = sql("count_jobs").format(overdue=_OVERDUE, ended=_HOW_MANY[asked])
            rows = yield from run_text("count_jobs", text)
            return [(*row, None, None) for row in rows]
        parts, bindings = _conditions(asked)
        text = sql("count_jobs_of").format(where=_all(parts), overdue=_OVERDUE)
        return (yield from run_text("count_jobs_of", text, **bindings))


PAGES = SqlitePages()


def _read(where: str, order: str, bindings: dict[str, Any], limit: int, offset: int = 0) -> Steps[Rows]:
    text = sql("read_jobs").format(where=where, order=order)
    return run_text("read_jobs", text, **bindings, limit=limit, offset=offset)


def _all(parts: list[str]) -> str:
    return " AND ".join(parts) or "true"


def _in_states(states: frozenset[State]) -> str:
    few = " UNION ALL ".join(_FEW[state] for state in states if state in _FEW)
    tests = [_MANY[state] for state in states if state in _MANY]
    return "(" + " OR ".join([*tests, *([f"job.seq IN ({few})"] if few else [])]) + ")" if states else "false"


def dead_where(filter: p.DeadFilter) -> tuple[str, dict[str, Any]]:
    """The condition of a dead letter filter, over job, lane and outcome."""
    parts, bindings = _conditions(filter)
    parts.append("outcome.state IN (2, 4)")
    if not filter.retried:
        parts.append("outcome.retried_as IS NULL")
    if filter.ids is not None:
        parts.append("job.id IN (SELECT value FROM json_each(:ids))")
        bindings["ids"] = as_json(filter.ids)
    if filter.error is not None:
        parts.append("instr(coalesce(job.error, ''), :error) > 0")
        bindings["error"] = filter.error
    if filter.before_us is not None:
        parts.append("outcome.finished_at < :ended_before")
        bindings["ended_before"] = filter.before_us
    return " AND ".join(parts), bindings


def _conditions(filter: p.JobFilter) -> tuple[list[str], dict[str, Any]]:
    """Conditions on a job and its lane, and their values."""
    bindings = {name: getattr(filter, name) for name in _ASKED if getattr(filter, name) is not None}
    return [_ASKED[name] for name in bindings], bindings


def _paged(asked: p.ListJobs) -> tuple[str, str]:
    """Where an index finds them: the condition that a page's jobs meet, beside the others, and their order."""
    finished = asked.sort == "finished"
    if asked.key is None:
        return _ended(asked), _BY_END
    parts = [_keyed(asked.before is not None and not finished)]
    if finished:
        parts.append("outcome.seq IS NOT NULL")
        if asked.before is not None:
            parts.append(f"(outcome.finished_at, outcome.seq) < {_LAST}")
    return " AND ".join(parts), _BY_END if finished else _BY_ID


def _keyed(before: bool) -> str:
    test = "keyed.id < :before" if before else "true"
    each = [_KEYED.format(place=place, kind=kind, before=test) for place in (0, 1) for kind in ("key", "rate")]
    return f"job.seq IN ({' UNION ALL '.join([*each, _HOLDER.format(before=test)])})"


def _ended(asked: p.ListJobs) -> str:
    before = f"(ended.finished_at, ended.seq) < {_LAST}" if asked.before is not None else "true"
    states = FINAL if asked.states is None else asked.states & FINAL
    codes = sorted(StateCode[state.name].value for state in states)
    each = " UNION ALL ".join(_LAST_ENDED.format(code=code, before=before) for code in codes)
    return f"job.seq IN ({each})" if each else "false"
