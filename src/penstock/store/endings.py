"""Attempts that ended without success, as the SQL engines store them: one judgement for both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.duration import format_duration
from penstock.domain.errors import NotLeader, WorkerInactive, WorkerRefused
from penstock.domain.job import ErrorInfo, Event, StateCode
from penstock.domain.options import decode_policy
from penstock.domain.retry import GiveUp, after_failure
from penstock.store import params as p

AVOID_US = 2 * MICROSECONDS
"""For so long after its due time, others are preferred to the worker whose attempt failed."""
LOST = msgspec.json.encode(
    ErrorInfo("WorkerLost", "the worker died or stopped answering while it held this job")
).decode()


class Ending(NamedTuple):
    """One attempt, in the order of columns that the statements read. `delay` is in microseconds from now."""

    token: int
    final: bool
    state: int
    started_at: int | None
    delay: int
    error: str | None
    reason: str | None
    decided_by: str
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
        give_back=int(end.event is Event.RELEASE),
        crash=int(end.crash),
        event=str(end.event),
        keep=None if isinstance(end.keep, bool) else end.keep,
        remove=end.keep is False,
        progress=end.progress,
        elsewhere=end.elsewhere,
    )


def ending_of_lost(token: int, attempt: int, policy_text: str | None, draw: Callable[[], float]) -> Ending:
    """Of a worker that does not answer: the retry policy decides, as after any failure."""
    policy = decode_policy(policy_text)
    verdict = after_failure(policy, attempt, draw)
    final = isinstance(verdict, GiveUp)
    keep = policy.remove_on_fail
    return Ending(
        token=token,
        final=final,
        state=int(StateCode.DEAD),
        started_at=None,
        delay=0 if isinstance(verdict, GiveUp) else int(verdict.delay * MICROSECONDS),
        error=LOST,
        reason=f"its worker was lost; {verdict.reason}" if isinstance(verdict, GiveUp) else "its worker was lost",
        decided_by="recovery",
        give_back=0,
        crash=1,
        event=str(Event.FAIL) if final else "recover",
        keep=None if isinstance(keep, bool) else keep,
        remove=final and keep is True,
    )


def ending_unstarted(token: int, times: int, give_back: p.GiveBackJobs, policy_text: str | None) -> Ending:
    """Of a claim that has not begun for too long, which has happened `times` times before."""
    final = times >= give_back.times_max
    limit = format_duration(give_back.start_timeout)
    reason = f"start timeout: it was claimed and not begun within {limit}"
    if final:
        reason = f"start timeout: it was claimed {times + 1} times, and never begun within {limit}"
    keep = decode_policy(policy_text).remove_on_fail
    return Ending(
        token=token,
        final=final,
        state=int(StateCode.DEAD),
        started_at=None,
        delay=0,
        error=msgspec.json.encode(ErrorInfo("StartTimeout", reason)).decode() if final else None,
        reason=reason,
        decided_by="start-timeout",
        give_back=1,
        crash=0,
        event=str(Event.FAIL) if final else "give_back",
        keep=None if isinstance(keep, bool) else keep,
        remove=final and keep is True,
    )


def given_back(leases: Sequence[tuple[Any, ...]], endings: Sequence[Ending]) -> p.GivenBack:
    """What became of claims that had not begun. Those that a person had cancelled are neither."""
    ended = [(id_, end.final) for (_, id_, _, _, cancel), end in zip(leases, endings, strict=True) if not cancel]
    return p.GivenBack([one for one, final in ended if not final], [one for one, final in ended if final])


def ending_unheard(token: int) -> Ending:
    """Of a claim whose answer was lost: the worker never knew of it."""
    return Ending(
        token=token, final=False, state=int(StateCode.DEAD), started_at=None, delay=0, error=None,
        reason="the claim's answer was lost", decided_by="worker", give_back=1, crash=0, event=str(Event.RELEASE),
        keep=None, remove=False,
    )  # fmt: skip


def ending_unreadable(token: int, why: str) -> Ending:
    """Of a job that no worker can be told of: what is stored of it cannot be read."""
    reason = f"what is stored of it cannot be read: {why}"
    return Ending(
        token=token, final=True, state=int(StateCode.DEAD), started_at=None, delay=0,
        error=msgspec.json.encode(ErrorInfo("Unreadable", reason)).decode(), reason=reason, decided_by="store",
        give_back=0, crash=0, event=str(Event.FAIL), keep=None, remove=False,
    )  # fmt: skip


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


def not_leader(term: int) -> NotLeader:
    return NotLeader(f"term {term} is over: another worker leads by now")
