"""Attempts that ended without success, as the SQL engines store them: one judgement for both."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.domain.clock import MICROSECONDS
from penstock.domain.duration import format_duration
from penstock.domain.errors import WorkerInactive, WorkerRefused
from penstock.domain.failure.retry import GiveUp, after_failure
from penstock.domain.job import DecidedBy, ErrorInfo, Event, StateCode
from penstock.domain.options import decode_policy
from penstock.store import contract as p
from penstock.store.sql.steps import as_json

AVOID_US = 2 * MICROSECONDS
"""For so long after its due time, others are preferred to the worker whose attempt failed."""
LOST = as_json(ErrorInfo("WorkerLost", "the worker died or stopped answering while it held this job"))


class Ending(NamedTuple):
    """One attempt, in the order of columns that the statements read. `delay` is in microseconds from now."""

    token: int
    final: bool
    state: int
    started_at: int | None
    delay: int
    error: str | None
    reason: str | None
    decided_by: DecidedBy
    give_back: int
    crash: int
    event: str
    keep: int | None
    remove: bool
    progress: str | None = None
    elsewhere: bool = False


def ending_of(end: p.Unfinished) -> Ending:
    """As the worker told it."""
    return Ending(
        token=end.token,
        final=end.event in (Event.FAIL, Event.CANCEL),
        state=int(StateCode.CANCELLED if end.event is Event.CANCEL else StateCode.DEAD),
        started_at=end.started_at,
        delay=int(end.delay * MICROSECONDS),
        error=end.error,
        reason=end.reason,
        decided_by="operator" if end.event is Event.CANCEL else "worker",
        give_back=int(end.event in (Event.RELEASE, Event.SNOOZE)),
        crash=int(end.crash),
        event=str(end.event),
        keep=None if isinstance(end.keep, bool) else end.keep,
        remove=end.keep is False,
        progress=end.progress,
        elsewhere=end.elsewhere,
    )


_RETURNED = Ending(
    token=0, final=False, state=int(StateCode.DEAD), started_at=None, delay=0, error=None, reason=None,
    decided_by="worker", give_back=0, crash=0, event="", keep=None, remove=False,
)  # fmt: skip
"""Of a job that goes back at once; the others say what differs."""


def ending_of_lost(token: int, attempt: int, policy_text: str | None, draw: Callable[[], float]) -> Ending:
    """Of a worker that does not answer: the retry policy decides, as after any failure."""
    policy = decode_policy(policy_text)
    verdict = after_failure(policy, attempt, draw)
    reason, common = "its worker was lost", _RETURNED._replace(token=token, error=LOST, decided_by="recovery", crash=1)
    if isinstance(verdict, GiveUp):
        return _ended(common._replace(reason=f"{reason}; {verdict.reason}"), policy.remove_on_fail)
    delay = int(verdict.delay * MICROSECONDS)
    return _kept(common._replace(delay=delay, reason=reason, event=str(Event.RECOVER)), policy.remove_on_fail)


def ending_unstarted(token: int, times: int, give_back: p.GiveBackJobs, policy_text: str | None) -> Ending:
    """Of a claim that has not begun for too long, which has happened `times` times before."""
    keep = decode_policy(policy_text).remove_on_fail
    limit = format_duration(give_back.start_timeout)
    common = _RETURNED._replace(token=token, decided_by="start-timeout", give_back=1)
    if times < give_back.times_max:
        reason = f"start timeout: it was claimed and not begun within {limit}"
        return _kept(common._replace(reason=reason, event=str(Event.GIVE_BACK)), keep)
    reason = f"start timeout: it was claimed {times + 1} times, and never begun within {limit}"
    error = as_json(ErrorInfo("StartTimeout", reason))
    return _ended(common._replace(reason=reason, error=error), keep)


def _kept(ending: Ending, keep: bool | int | None) -> Ending:
    """How long the job is kept once it has ended, as its policy says."""
    return ending._replace(keep=None if isinstance(keep, bool) else keep)


def _ended(ending: Ending, keep: bool | int | None) -> Ending:
    return _kept(ending._replace(final=True, event=str(Event.FAIL), remove=keep is True), keep)


def ending_unheard(token: int) -> Ending:
    """Of a claim whose answer was lost: the worker never knew of it."""
    reason = "the claim's answer was lost"
    return _RETURNED._replace(token=token, reason=reason, give_back=1, event=str(Event.RELEASE))


def ending_unreadable(token: int, why: str) -> Ending:
    """Of a job that no worker can be told of: what is stored of it cannot be read."""
    reason = f"what is stored of it cannot be read: {why}"
    error = as_json(ErrorInfo("Unreadable", reason))
    return _ended(_RETURNED._replace(token=token, error=error, reason=reason, decided_by="store"), None)


def already_registered(worker_id: str, status: str) -> WorkerRefused:
    return WorkerRefused(
        f"a worker with the id {worker_id!r} is {status} in this store; "
        "stop it first, or give this one another id (--id)"
    )


def refuse_claim(status: str | None) -> WorkerRefused:
    """Why a worker in this status gets no jobs."""
    if status == "failing":
        return WorkerInactive("this worker does not answer its health probes, so it gets no jobs until it does")
    return WorkerRefused(f"this worker is {status or 'not registered'}; it must register again before it claims")
