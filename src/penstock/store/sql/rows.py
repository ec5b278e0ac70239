"""What the SQL engines make of the columns they have read, and of what they were told: no engine, no statements."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.errors import AlreadyRetried, UnknownJob
from penstock.domain.failure.interrupted import let_interrupt_out
from penstock.domain.flow.gates import Declarers, Gate, Wholes, gates_of, words_of
from penstock.domain.job import FINAL, DecidedBy, ErrorInfo, Event, Job, Progress, State, StateCode, Transition
from penstock.domain.options import NO_RESOURCES, Options, Resources, Tenant, decode_policy
from penstock.domain.payload import decode_json
from penstock.domain.workflows import WorkflowState
from penstock.store import contract as p
from penstock.store.sql.faults import tell_unreadable_needs
from penstock.store.sql.steps import as_json
from penstock.store.sql.unreadable import UNREADABLE, no_lane, part, unreadable_job

WORKERS_LISTED = 1000
UNKNOWN_NEEDS = Resources(memory=2**62)
EXPIRED_REASON = "waited in the queue for longer than its time-to-live"

_error = msgspec.json.Decoder(ErrorInfo).decode
_progress = msgspec.json.Decoder(Progress).decode
_tags = msgspec.json.Decoder(tuple[str, ...]).decode
_gates = msgspec.json.Decoder(tuple[Gate, ...]).decode
_resources = msgspec.json.Decoder(Resources).decode

FINAL_STATES: dict[int, State] = {StateCode[state.name]: state for state in FINAL}


class JobColumns(NamedTuple):
    """A job with wherever its pointer is, in the order in which the statements of the engines read it."""

    id: str
    type: str | None
    queue: str
    capability: str
    payload: str
    priority: int
    org: str | None
    workspace: str | None
    tags: Sequence[str] | str | None
    unique_key: str | None
    attempt: int
    policy: str | None
    crashes: int
    snoozes: int
    created_at: int
    due_at: int
    claimed_at: int | None
    started_at: int | None
    finished_at: int | None
    worker_id: str | None
    heartbeat_at: int | None
    progress: str | None
    result: str | None
    error: str | None
    reason: str | None
    decided_by: DecidedBy | None
    parent: str | None
    retried_from: str | None
    retried_as: str | None
    cancel: bool
    outcome: int | None
    token: int | None
    gates: str | None = None
    gate: str | None = None
    most: int = 0
    period: int | None = None
    ordered: bool = False
    expires_at: int | None = None
    """When it ends unless it is begun: of one that waits for its first attempt, and has a time-to-live."""
    app_version: str | None = None


def read_tags(text: str | None, job_id: str) -> tuple[str, ...] | None:
    """Where they are stored as JSON."""
    return part(_tags, text, "tags", job_id)


def tenant_of(row: JobColumns | DeadJob) -> Tenant | None:
    return None if row.org is None else Tenant(row.org, row.workspace)


def make_job(row: JobColumns, now: int) -> Job:
    """An error that names the job where its state or its times are none."""
    try:
        return _make_job(row, now)
    except UNREADABLE as error:
        raise unreadable_job(row.id, error) from None


def _make_job(row: JobColumns, now: int) -> Job:
    if row.expires_at is not None and row.expires_at <= now and row.outcome is None and row.token is None:
        row = _expired(row)
    if row.type is None:  # The lane is missing, which must never be.
        raise no_lane(row.id)
    return Job(
        id=row.id,
        type=row.type,
        queue=row.queue,
        capability=row.capability,
        state=_state(row, now),
        payload=plain_payload(row.payload),
        priority=row.priority,
        attempt=row.attempt,
        max_attempts=decode_policy(row.policy).attempts,
        crashes=row.crashes,
        snoozes=row.snoozes,
        created_at=from_us(row.created_at),
        due_at=from_us(row.due_at),
        tenant=tenant_of(row),
        tags=_tags_of(row),
        keys=_keys(row),
        claimed_at=_moment(row.claimed_at),
        started_at=_moment(row.started_at),
        finished_at=_moment(row.finished_at),
        worker_id=row.worker_id,
        worker_heartbeat_at=_moment(row.heartbeat_at),
        progress=part(_progress, row.progress, "progress", row.id),
        result=plain_payload(row.result) if row.result is not None else None,
        error=part(_error, row.error, "error", row.id),
        reason=row.reason if row.gate is None else waits_before(row.gate, row.most, row.period, row.ordered),
        decided_by=row.decided_by,
        parent=row.parent,
        retried_from=row.retried_from,
        retried_as=row.retried_as,
        cancel_requested=bool(row.cancel),
        app_version=row.app_version,
    )


def _expired(row: JobColumns) -> JobColumns:
    """As it will be once somebody has moved it: its time is over, also while nobody is there to do that."""
    return row._replace(
        outcome=StateCode.EXPIRED, finished_at=row.expires_at, reason=EXPIRED_REASON, decided_by="ttl", gate=None
    )


def _moment(value: int | None) -> datetime | None:
    return None if value is None else from_us(value)


def plain_payload(text: str) -> Any:
    """The stored JSON, or the raw text where somebody wrote something else: a reader must not fail on one job."""
    try:
        return decode_json(text)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        let_interrupt_out(error)
        return text


def _state(row: JobColumns, now: int) -> State:
    if row.outcome is not None:
        return named_state(row.outcome)
    if row.token is not None:
        return State.CLAIMED if row.started_at is None else State.RUNNING
    if row.gate is not None:
        return State.BLOCKED
    return State.SCHEDULED if row.due_at > now else State.PENDING


def _tags_of(row: JobColumns) -> tuple[str, ...]:
    """An array of the engine: on SQLite a JSON text."""
    return tuple((part(_tags, row.tags, "tags", row.id) if isinstance(row.tags, str) else row.tags) or ())


def _keys(row: JobColumns) -> tuple[str, ...]:
    """All that it shares with other jobs: its unique key, and the keys of its limits."""
    gates = part(_gates, row.gates, "limits", row.id) or ()
    return (*([row.unique_key] if row.unique_key else []), *(gate.key for gate in gates))


def waits_before(gate: str, most: int, period: int | None, ordered: bool) -> str:
    """Why a job is blocked."""
    kind, _, key = gate.partition(":")
    what = "rate limit" if kind == "rate" else "key"
    return f"waits for its turn: the {what} {key!r} allows {words_of(most, period, ordered)}"


def named_state(state: str | int) -> State:
    """A state that is stored as a number, or already told by its name. ValueError if there is none like it."""
    if not isinstance(state, int):
        return State(state)
    if state not in FINAL_STATES:
        raise ValueError(f"there is no state {state}")
    return FINAL_STATES[state]


def final_state(job_id: str, state: int) -> State:
    """How a job has ended; an error that names it if there is no such end."""
    try:
        return named_state(state)
    except ValueError as error:
        raise unreadable_job(job_id, error) from None


def make_transition(
    job_id: str, at: int, event: str, attempt: int, worker: str | None, reason: str | None, error: str | None
) -> Transition:
    try:
        moment, happened = from_us(at), Event(event)
    except UNREADABLE as unreadable:
        raise unreadable_job(job_id, unreadable) from None
    return Transition(
        at=moment,
        event=happened,
        attempt=attempt,
        worker_id=worker,
        reason=reason,
        error=part(_error, error, "error of an attempt", job_id),
    )


def read_resources(text: str) -> Resources:
    """What a lane's jobs need, as it is stored: more than any worker has, where that cannot be read."""
    try:
        return _resources(text) if text else NO_RESOURCES
    except msgspec.MsgspecError as error:
        tell_unreadable_needs(text, str(error))
        return UNKNOWN_NEEDS


def resource_text(resources: Resources) -> str:
    """As a lane stores them."""
    return "" if resources is NO_RESOURCES or resources == NO_RESOURCES else as_json(resources)


def make_waiting(type: str, queue: str, capability: str, resources: str, jobs: int, oldest: int) -> p.Waiting:
    return p.Waiting(
        type=type,
        queue=queue,
        capability=capability,
        resources=read_resources(resources),
        jobs=jobs,
        oldest_due_at=oldest,
    )


# Dead letters


class DeadJob(NamedTuple):
    """What a retry needs of a dead letter."""

    id: str
    state: int
    payload: str
    retried_as: str | None
    type: str
    queue: str
    capability: str
    resources: str
    priority: int
    policy: str | None
    org: str | None
    workspace: str | None
    tags: Sequence[str] | None


def job_again(new_id: str, declared: dict[str, Options], wholes: Wholes, dead: DeadJob) -> p.NewJob:
    """A dead letter as a new job."""
    spec = _spec_again(declared, dead)
    gates = wholes.gates_of(spec.type, spec.queue)
    if spec.limit is not None or spec.rate_limit is not None:
        what = f"the payload of {dead.id}"
        gates = gates_of(spec, _fields(dead.payload), what, Declarers(declared.items())) + gates
    return p.NewJob(new_id, dead.payload, spec, gates)


def _fields(payload: str) -> dict[str, Any]:
    found = plain_payload(payload)
    return found if isinstance(found, dict) else {}


def _spec_again(declared: dict[str, Options], dead: DeadJob) -> p.JobSpec:
    """Its type's current options, or its own where nobody has declared the type."""
    if dead.type in declared:
        spec = p.job_spec(dead.type, declared[dead.type])
    else:
        spec = p.JobSpec(
            type=dead.type,
            queue=dead.queue,
            capability=dead.capability,
            resources=read_resources(dead.resources),
            priority=dead.priority,
            policy=dead.policy,
            ttl=decode_policy(dead.policy).ttl,
        )
    return msgspec.structs.replace(spec, tenant=tenant_of(dead), tags=tuple(dead.tags or ()), unique=None)


def refuse_unknown(wanted: p.DeadFilter, found: set[str]) -> None:
    missing = [job_id for job_id in wanted.ids or () if job_id not in found]
    if missing:
        raise UnknownJob(f"not among the dead letters: {', '.join(missing)}; see `penstock dead list`")


def refuse_retried(dead: DeadJob, force: bool) -> None:
    if dead.retried_as is not None and not force:
        raise AlreadyRetried(f"job {dead.id} was retried before as {dead.retried_as}; use force to retry it again")


def unknown_job(job_id: str) -> UnknownJob:
    return UnknownJob(f"no job has the id {job_id}; it never existed in this store, or retention removed it")


def prune_ages(prune: p.PruneJobs) -> dict[State, float]:
    """How long each final state is kept, in seconds; one that is not named is kept for good."""
    ages = {State.COMPLETED: prune.completed_after, State.CANCELLED: prune.cancelled_after}
    if prune.dead_after is not None:
        ages |= {State.DEAD: prune.dead_after, State.EXPIRED: prune.dead_after}
    return ages


def workflow_ages(prune: p.PruneJobs) -> dict[WorkflowState, int]:
    """How long an ended workflow is kept, in microseconds: as a job that ended so, or a dead letter."""
    ages = {WorkflowState.COMPLETED: prune.completed_after, WorkflowState.CANCELLED: prune.cancelled_after}
    if prune.dead_after is not None:
        ages[WorkflowState.FAILED] = prune.dead_after
    return {state: int(age * MICROSECONDS) for state, age in ages.items()}
