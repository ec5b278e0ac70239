"""Jobs that workflows have planned and not yet enqueued, as people see them: blocked, until their step begins.

Those of a workflow that was stopped are not listed or counted: they wait for nothing any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter

import msgspec

from penstock.domain.clock import from_us
from penstock.domain.errors import PenstockError, UsageError
from penstock.domain.job import Job, State
from penstock.domain.options import decode_policy
from penstock.store import contract as p
from penstock.store.sql.rows import named_state, plain_payload, unknown_job
from penstock.store.sql.steps import Steps, as_json, run
from penstock.store.sql.unreadable import tell_unknown_states
from penstock.store.sql.workflows.rows import decode_gates

PLANNED = "planned"
"""Stands for the state in rows that count planned jobs; their type is the whole spec."""

_spec = msgspec.json.Decoder(p.JobSpec).decode


def read_planned(job_id: str) -> Steps[Job | None]:
    found = yield from run("planned_job", id=job_id)
    return _job(*found[0]) if found else None


def missing(job_id: str) -> Steps[PenstockError]:
    """Why a job that is not stored cannot be cancelled."""
    planned = yield from read_planned(job_id)
    if planned is None:
        return unknown_job(job_id)
    return UsageError(
        f"job {job_id} is not enqueued yet, so it cannot be cancelled alone: {planned.reason}. Cancel the whole "
        f"workflow: penstock workflows cancel {planned.parent}"
    )


def list_planned(asked: p.ListJobs) -> Steps[list[Job]]:
    """The first of a page. To be asked before the jobs that are stored: those that begin meanwhile are among these."""
    if asked.key is not None or asked.sort == "finished":
        return []
    if asked.states is not None and State.BLOCKED not in asked.states:
        return []
    groups = yield from run("planned_groups")
    chosen = [tuple(group) for *group, spec in groups if _matches(asked, _spec(spec))]
    if not chosen:
        return []
    rows = yield from run("planned_page", groups=as_json(chosen), before=asked.before, limit=asked.limit)
    return [_job(*row) for row in rows]


def page_of(stored: Sequence[Job], planned: Sequence[Job], limit: int) -> list[Job]:
    """Both together, newest first."""
    found = {job.id: job for job in (*planned, *stored)}
    return sorted(found.values(), key=attrgetter("id"), reverse=True)[:limit]


def counts_of(
    rows: Iterable[tuple[str, str, str | int, int, str | None, str | None]], asked: p.CountJobs
) -> list[p.Count]:
    """Rows of type, queue, state, jobs, tenant and capability, with the planned ones among those of their type."""
    counts: Counter[tuple[str, str, State, str | None, str | None]] = Counter()
    for type_, queue, state, jobs, org, capability in rows:
        if state != PLANNED:
            known = _known(type_, queue, state, jobs)
            if known is not None:
                counts[type_, queue, known, org, capability if asked.by_capability else None] += jobs
        elif _matches(asked, spec := _spec(type_)):
            tenant = None if asked in (p.ALL_JOBS, p.ALL_STATES) or spec.tenant is None else spec.tenant.org
            kind = spec.capability if asked.by_capability else None
            counts[spec.type, spec.queue, State.BLOCKED, tenant, kind] += jobs
    return [p.Count(type_, queue, state, jobs, *more) for (type_, queue, state, *more), jobs in counts.items()]


def _known(type: str, queue: str, state: str | int, jobs: int) -> State | None:
    try:
        return named_state(state)
    except ValueError:
        tell_unknown_states(type, queue, state, jobs)
        return None


def _matches(asked: p.JobFilter, spec: p.JobSpec) -> bool:
    tenant = spec.tenant
    has = {
        "type": spec.type,
        "queue": spec.queue,
        "tenant": None if tenant is None else tenant.org,
        "workspace": None if tenant is None else tenant.workspace,
        "parent": spec.parent,
    }
    return all(getattr(asked, name) in (None, value) for name, value in has.items()) and (
        asked.tag is None or asked.tag in spec.tags
    )


def _job(
    id_: str, spec_text: str, payload: str, gates: str | None, created_at: int, workflow: str, step: str, stop: int
) -> Job:  # fmt: skip
    spec = _spec(spec_text)
    why = "does not begin any more" if stop else "begins when those that it comes after have ended"
    return Job(
        id=id_, type=spec.type, queue=spec.queue, capability=spec.capability, state=State.BLOCKED,
        payload=plain_payload(payload), priority=spec.priority, attempt=0,
        max_attempts=decode_policy(spec.policy).attempts, crashes=0, snoozes=0, created_at=from_us(created_at),
        due_at=from_us(created_at), tenant=spec.tenant, tags=spec.tags,
        keys=tuple(gate.key for gate in decode_gates(gates)) if gates else (), reason=f"step {step!r} {why}",
        parent=workflow,
    )  # fmt: skip
