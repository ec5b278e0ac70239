"""What happened to jobs, as operations answer it: made of what the store knows of them, asked once for all of them.

`describe_jobs` answers id, type, queue, capability, org, workspace, attempt and tags of jobs that are stored;
`describe_leases` the same of attempts under way, with their token, the id of their worker, and whether a person has
asked to cancel them. Both are asked before the rows are gone. Nothing is asked where there is nothing to tell.
The route of a job whose lane is gone is not known: it is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from penstock.domain.job import DecidedBy, ErrorInfo, Event, State
from penstock.domain.options import Tenant
from penstock.store.contract import Enqueued, Happened, JobSpec, NewJob
from penstock.store.sql.endings import Ending
from penstock.store.sql.rows import EXPIRED_REASON
from penstock.store.sql.steps import Rows, Steps, run

NO_WORKER = "NoEligibleWorker"

_error = msgspec.json.Decoder(ErrorInfo).decode
_decode_tags = msgspec.json.Decoder(tuple[str, ...]).decode


def tell(
    event: Event,
    ids: Sequence[str],
    state: State | None = None,
    decided_by: DecidedBy | None = None,
    reason: str | None = None,
    error: str | None = None,
) -> Steps[list[Happened]]:
    """The same has happened to all of these jobs; in their order."""
    return told(event, ids, (yield from describe(ids)), state, decided_by, reason, error)


def describe(ids: Sequence[str]) -> Steps[Rows]:
    """What is known of jobs, for told(): before they are gone."""
    return (yield from run("describe_jobs", ids=list(ids))) if ids else []


def told(
    event: Event, ids: Iterable[str], described: Rows, state: State | None = None, decided_by: DecidedBy | None = None,
    reason: str | None = None, error: str | None = None,
) -> list[Happened]:  # fmt: skip
    rows: dict[str, tuple[Any, ...]] = {row[0]: row for row in described}
    return [
        Happened(event, id_, type_, queue, capability, _tenant(org, workspace), attempt, state, decided_by, error,
                 None, reason, _tags(tags))
        for id_, type_, queue, capability, org, workspace, attempt, tags in (rows[id_] for id_ in ids if id_ in rows)
    ]  # fmt: skip


def tell_expired(ids: Sequence[str]) -> Steps[list[Happened]]:
    return tell(Event.EXPIRE, ids, State.EXPIRED, "ttl", EXPIRED_REASON)


# New jobs


def told_enqueued(jobs: Sequence[NewJob], answers: Sequence[Enqueued], news: bool = True) -> list[Happened]:
    """What the enqueue of these was answered: they wait, or at their moment will. One that waits before a limit is told
    of as one that waits for a worker: which of them pass is decided by their claim.
    """
    happened: list[Happened] = []
    for job, answer in zip(jobs, answers, strict=True):
        if news and answer.created:
            happened.append(
                _new(Event.ENQUEUE, job.id, job.spec, State.SCHEDULED if _is_later(job.spec) else State.PENDING)
            )
        happened += answer.happened
    return happened


def told_unroutable(job_id: str, spec: JobSpec, reason: str) -> Happened:
    """A new job that has ended at once."""
    return _new(Event.FAIL, job_id, spec, State.DEAD, "routing", NO_WORKER, reason)


def _new(
    event: Event, job_id: str, spec: JobSpec, state: State, decided_by: DecidedBy | None = None,
    error: str | None = None, reason: str | None = None,
) -> Happened:  # fmt: skip
    return Happened(event, job_id, spec.type, spec.queue, spec.capability, spec.tenant, 0, state, decided_by, error,
                    None, reason, spec.tags)  # fmt: skip


def _is_later(spec: JobSpec) -> bool:
    return spec.delay > 0 or spec.at is not None


# Attempts


def describe_leases(tokens: Sequence[int]) -> Steps[Rows]:
    """What is known of attempts under way, for told_endings(), which must come after they have ended."""
    return (yield from run("describe_leases", tokens=list(tokens))) if tokens else []


def told_endings(leases: Rows, endings: Iterable[Ending], lost: Sequence[int]) -> list[Happened]:
    """These attempts have ended as said, but for those that were `lost`; one that a person had asked to cancel has
    ended cancelled.
    """
    described = {row[0]: row[1:] for row in leases}
    return [
        _told_ending(end, *described[end.token]) for end in endings if end.token in described and end.token not in lost
    ]


def _told_ending(
    end: Ending, id_: str, type_: str, queue: str, capability: str, org: str | None, workspace: str | None,
    attempt: int, worker: str | None, cancel: bool, tags: Any,
) -> Happened:  # fmt: skip
    event, state, decided_by, error = (
        (Event.CANCEL, State.CANCELLED, "operator", None) if cancel
        else (Event(end.event), _state(end), end.decided_by, end.error and _error(end.error).type)
    )  # fmt: skip
    return Happened(event, id_, type_, queue, capability, _tenant(org, workspace), attempt, state, decided_by, error,
                    worker, end.reason, _tags(tags))  # fmt: skip


def _state(end: Ending) -> State:
    if end.final:
        return State.DEAD
    return State.SCHEDULED if end.delay > 0 else State.PENDING


def _tags(stored: Sequence[str] | str | None) -> tuple[str, ...]:
    """On SQLite they are JSON. What cannot be read is left out."""
    if not isinstance(stored, str):
        return tuple(stored or ())
    try:
        return _decode_tags(stored)
    except msgspec.MsgspecError:
        return ()


def _tenant(org: str | None, workspace: str | None) -> Tenant | None:
    return None if org is None else Tenant(org, workspace)
