"""Reading jobs: one statement that finds a job's pointer wherever it is, and filters made of fixed texts."""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

from penstock.domain.clock import from_us
from penstock.domain.job import FINAL, ErrorInfo, Job, Progress, State, StateCode, Transition
from penstock.domain.options import Tenant, decode_policy
from penstock.domain.payload import decode_json
from penstock.store import params as p
from penstock.store.sqlite.statements import sql
from penstock.store.sqlite.tx import fetch, read_resources

_error = msgspec.json.Decoder(ErrorInfo).decode
_progress = msgspec.json.Decoder(Progress).decode
_tenant = msgspec.json.Decoder(Tenant).decode
_tags = msgspec.json.Decoder(tuple[str, ...]).decode

_NEWEST_FIRST = "job.id DESC"
# Where the jobs of a state are found when there are usually few of them.
_FEW = {
    State.CLAIMED: "SELECT seq FROM penstock_lease WHERE started_at IS NULL",
    State.RUNNING: "SELECT seq FROM penstock_lease WHERE started_at IS NOT NULL",
    State.SCHEDULED: "SELECT seq FROM penstock_scheduled WHERE due_at > :now",
    State.DEAD: "SELECT seq FROM penstock_outcome WHERE state = 2",
    State.CANCELLED: "SELECT seq FROM penstock_outcome WHERE state = 3",
    State.EXPIRED: "SELECT seq FROM penstock_outcome WHERE state = 4",
}
_MANY = {
    State.PENDING: "(lease.token IS NULL AND outcome.state IS NULL AND job.due_at <= :now)",
    State.COMPLETED: "(outcome.state = 1)",
    State.BLOCKED: "false",
}


def read_job(db: apsw.Connection, now: int, job_id: str) -> Job | None:
    jobs = _jobs(db, now, "job.id = :id", _NEWEST_FIRST, {"id": job_id}, limit=1)
    return jobs[0] if jobs else None


def list_jobs(db: apsw.Connection, now: int, params: p.ListJobs) -> list[Job]:
    parts, bindings = _common(params.type, params.queue, params.tenant)
    if params.before is not None:
        parts.append("job.id < :before")
        bindings["before"] = params.before
    if params.tag is not None:
        parts.append("EXISTS (SELECT 1 FROM json_each(job.tags) AS tag WHERE tag.value = :tag)")
        bindings["tag"] = params.tag
    if params.states is not None:
        few = " UNION ALL ".join(_FEW[state] for state in params.states if state in _FEW)
        tests = [_MANY[state] for state in params.states if state in _MANY]
        parts.append(
            "(" + " OR ".join([*tests, *([f"job.seq IN ({few})"] if few else [])]) + ")" if params.states else "false"
        )
    return _jobs(db, now, " AND ".join(parts) or "true", _NEWEST_FIRST, bindings, limit=params.limit)


def list_dead(db: apsw.Connection, now: int, params: p.ListDead) -> p.DeadPage:
    where, bindings = dead_where(params.filter)
    total = db.execute(sql("count_dead").format(where=where), bindings).get
    order = "outcome.finished_at DESC, job.seq DESC"
    return p.DeadPage(_jobs(db, now, where, order, bindings, params.limit, params.offset), total)


def dead_where(filter: p.DeadFilter) -> tuple[str, dict[str, Any]]:
    """The condition of a dead letter filter, over job, lane and outcome."""
    parts, bindings = _common(filter.type, filter.queue, filter.tenant)
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


def _common(type: str | None, queue: str | None, tenant: str | None) -> tuple[list[str], dict[str, Any]]:
    parts: list[str] = []
    bindings: dict[str, Any] = {}
    for column, value in (("lane.type", type), ("lane.queue", queue), ("job.tenant ->> 'org'", tenant)):
        if value is not None:
            name = column.split(".")[1].split(" ")[0]
            parts.append(f"{column} = :{name}")
            bindings[name] = value
    return parts, bindings


def _jobs(
    db: apsw.Connection, now: int, where: str, order: str, bindings: dict[str, Any], limit: int, offset: int = 0
) -> list[Job]:
    statement = sql("read_jobs").format(where=where, order=order)
    rows = fetch(db, statement, {**bindings, "now": now, "limit": limit, "offset": offset})
    return [_job(row, now) for row in rows]


def _job(row: tuple[Any, ...], now: int) -> Job:
    (_, id_, type_, queue, capability, payload, priority, tenant, tags, unique_key, attempt, policy, crashes,
     created_at, due_at, claimed_at, started_at, finished_at, worker, heartbeat_at, progress, result, error, reason,
     decided_by,
     parent, retried_from, retried_as, cancel, outcome, token) = row  # fmt: skip
    return Job(
        id=id_,
        type=type_,
        queue=queue,
        capability=capability,
        state=_state(outcome, token, started_at, due_at, now),
        payload=_plain(payload),
        priority=priority,
        attempt=attempt,
        max_attempts=decode_policy(policy).attempts,
        crashes=crashes,
        created_at=from_us(created_at),
        due_at=from_us(due_at),
        tenant=_tenant(tenant) if tenant else None,
        tags=_tags(tags) if tags else (),
        keys=(unique_key,) if unique_key else (),
        claimed_at=_moment(claimed_at),
        started_at=_moment(started_at),
        finished_at=_moment(finished_at),
        worker_id=worker,
        worker_heartbeat_at=_moment(heartbeat_at),
        progress=_progress(progress) if progress else None,
        result=_plain(result) if result is not None else None,
        error=_error(error) if error else None,
        reason=reason,
        decided_by=decided_by,
        parent=parent,
        retried_from=retried_from,
        retried_as=retried_as,
        cancel_requested=bool(cancel),
    )


def _moment(value: int | None) -> Any:
    return None if value is None else from_us(value)


def _plain(text: str) -> Any:
    """The stored JSON, or the raw text where somebody wrote something else: a reader must not fail on one job."""
    try:
        return decode_json(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return text


_OUTCOMES = {StateCode[state.name]: state for state in FINAL}


def _state(outcome: int | None, token: int | None, started_at: int | None, due_at: int, now: int) -> State:
    if outcome is not None:
        return _OUTCOMES[StateCode(outcome)]
    if token is not None:
        return State.CLAIMED if started_at is None else State.RUNNING
    return State.SCHEDULED if due_at > now else State.PENDING


def count_jobs(db: apsw.Connection, now: int) -> list[p.Count]:
    rows = fetch(db, sql("count_jobs"), {"now": now})
    return [p.Count(type_, queue, _named(state), jobs) for type_, queue, state, jobs in rows]


def count_waiting(db: apsw.Connection, now: int, params: p.CountWaiting) -> list[p.Waiting]:
    rows = fetch(db, sql("count_waiting"), {"now": now, "limit": params.limit})
    return [
        p.Waiting(
            type=type_,
            queue=queue,
            capability=capability,
            resources=read_resources(resources),
            jobs=jobs,
            oldest_due_at=oldest,
        )
        for type_, queue, capability, resources, jobs, oldest in rows
    ]


def _named(state: str | int) -> State:
    return _OUTCOMES[StateCode(state)] if isinstance(state, int) else State(state)


def read_clock(db: apsw.Connection, now: int) -> int:
    fetch(db, sql("ping"), {})  # The clock is this machine's; that the store answers is what the caller wants to know.
    return now


def read_history(db: apsw.Connection, job_id: str) -> list[Transition]:
    return [
        Transition(
            at=from_us(at),
            event=event,
            attempt=attempt,
            worker_id=worker,
            reason=reason,
            error=_error(error) if error else None,
        )
        for at, event, attempt, worker, reason, error in fetch(db, sql("read_history"), {"id": job_id})
    ]
