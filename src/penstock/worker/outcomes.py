"""How attempts end: what a result, an error or a stop means for the store, the log and the hooks."""

from __future__ import annotations

import logging
import random
import time
from functools import partial
from typing import Any

import msgspec

from penstock.client import Client
from penstock.domain.duration import format_duration
from penstock.domain.errors import HandlerError, PayloadError, ProcessDied, UsageError
from penstock.domain.job import ErrorInfo, Event, Progress, State
from penstock.domain.options import Policy
from penstock.domain.payload import decode_json, encode_json, from_plain
from penstock.domain.registry import Declaration
from penstock.domain.retry import GiveUp, Verdict, decide, describe_error, redacted
from penstock.domain.workflows import is_workflow
from penstock.observe.logs import fields, job_fields
from penstock.observe.redaction import log_error, redact
from penstock.store.call import Call
from penstock.store.params import Claim, Completed, Unfinished
from penstock.worker.finisher import NOTHING, Attached, Finisher
from penstock.worker.following import follow_ups_of
from penstock.worker.hooks import HookCalls
from penstock.worker.neighbours import Neighbours
from penstock.worker.run import FinishedIn, Run, Stop
from penstock.worker.settings import WorkerSettings

MESSAGE_CHARS_LOGGED = 500
UNDER_WAY = ("job.started", "job.progress")
NOT_COMMITTED = (
    "the handler returned after finish_in(), and its transaction was not committed: it was rolled back, or is still "
    "open; return after the end of the transaction's block, or let its error out of the handler"
)

log = logging.getLogger("penstock.worker")


class ChildError(HandlerError):
    """An error that a child process has described and judged already."""

    def __init__(self, info: ErrorInfo, verdict: Verdict) -> None:
        super().__init__(f"{info.type}: {info.message}", info)
        self.described = info
        self.verdict = verdict


def judge(declaration: Declaration, policy: Policy, attempt: int, error: BaseException) -> Verdict:
    """What follows this error: the handler's own opinion first, then the rules."""
    if "is_retryable" in declaration.hooked and declaration.hooks is not None:
        try:
            if not declaration.hooks.is_retryable(error):
                return GiveUp("the handler said that it is not retryable")
        except Exception as broken:
            log_error(log, logging.ERROR, broken, "is_retryable of %s raised; the usual rules decide", declaration.name)
    return decide(policy, attempt, error, random.random, time.time_ns() // 1000)


def completion_of(run: Run, result: Any, client: Client) -> tuple[Completed, Attached]:
    """What is stored of a success: the outcome, and what goes with it."""
    claim = run.claim
    text = None if result is None else encode_json(result, f"the result of {claim.type}")
    keep = _kept(run.policy.remove_on_complete)
    done = Completed(claim.token, run.started_us, text, run.progress, keep, _member(claim))
    calls = follow_ups_of(run, result)
    if not calls and not run.workflows:
        return done, NOTHING
    return done, Attached(
        [(claim.token, client.follow_up(call, claim)) for call in calls],
        [(claim.token, workflow) for workflow in run.workflows],
    )


class Outcomes:
    """Decides and hands over. Whoever calls it sees to it that an attempt ends only once."""

    def __init__(self, finisher: Finisher, client: Client, settings: WorkerSettings, hooks: HookCalls,
                 neighbours: Neighbours) -> None:  # fmt: skip
        self._finisher = finisher
        self._client = client
        self._settings = settings
        self._hooks = hooks
        self._neighbours = neighbours

    def limit(self, policy: Policy) -> float | None:
        """The longest that an attempt may take here, in seconds."""
        ceiling = self._settings.job_timeout
        if ceiling is None or policy.timeout is None:
            return policy.timeout if ceiling is None else ceiling
        return min(policy.timeout, ceiling)

    def succeed(self, run: Run, result: Any) -> None:
        try:
            done, attached = completion_of(run, result, self._client)
        except BaseException as error:  # Code of the result and of follow-ups runs here and may raise anything.
            self.fail(run, error)
            return
        if run.plan.chatty:
            took = _seconds(run)
            self._finisher.after(run.claim.token, partial(self._completed, run, took, done.result),
                                 partial(self._dropped, run, took))  # fmt: skip
        if run.plan.declaration.hooked:
            self._after(run, "on_complete", _for_hook(run, result))
        if attached is NOTHING and done.member is None:
            self._finisher.completed(done)
        else:
            self._finisher.completed(done, attached, lambda error: self.fail(run, error))

    def _completed(self, run: Run, took: float, result: str | None) -> None:
        """The store has it."""
        self._log(run, logging.INFO, "job.completed", "completed in %s", format_duration(took), took=took,
                  result=self._shown(result))  # fmt: skip

    def _dropped(self, run: Run, took: float) -> None:
        """The store has refused it."""
        self._log(run, logging.WARNING, "job.lost",
                  "lost: the job was taken from this worker before its outcome was stored, which is dropped",
                  took=took)  # fmt: skip

    # Completion in a transaction of the handler's

    def finish_in(self, run: Run, conn: object, result: Any) -> Call[list[int]]:
        """The completion as a call that joins the handler's transaction; answers the token if it is lost."""
        return self._finisher.finish_in(*completion_of(run, result, self._client), conn)

    def settle(self, run: Run, said: FinishedIn, error: BaseException | None) -> None:
        """The handler has ended after it stored its completion in a transaction of its own. The store knows whether
        that was committed; if not, the attempt ends as if nothing had been said, and with an error if it seemed well.
        """

        def decide(state: State | None) -> None:
            if state is not None:
                self._committed(run, said, state, error)
            elif run.stop is not None:
                self.stopped(run)
            else:
                self.fail(run, error or UsageError(NOT_COMMITTED))

        self._finisher.settle(run.claim, decide)

    def _committed(self, run: Run, said: FinishedIn, state: State, error: BaseException | None) -> None:
        if state is State.CANCELLED:
            self._log(run, logging.INFO, "job.cancelled", "cancelled")
            return
        if error is not None:
            log_error(log, logging.WARNING, error, "%s raised after its own transaction had completed the job",
                      run.describe())  # fmt: skip
        if run.plan.chatty:
            self._log(run, logging.INFO, "job.completed", "completed in %s", format_duration(_seconds(run)))
        if run.plan.declaration.hooked:
            if run.progress is not None and run.progress != run.reported:
                self.progressed(run, run.progress)
            self._hooks.call(run, "on_complete", said.result)

    # Endings without success

    def fail(self, run: Run, error: BaseException) -> None:
        if isinstance(error, ChildError):
            info, verdict = redacted(error.described, redact), error.verdict
        else:
            info = describe_error(error, redact)
            verdict = judge(run.plan.declaration, run.policy, run.claim.attempt, error)
        told: dict[str, Any] = {"error": {"type": info.type, "message": info.message}}
        message = info.message[:MESSAGE_CHARS_LOGGED]
        run.final = isinstance(verdict, GiveUp)
        if isinstance(verdict, GiveUp):
            event, delay, reason = Event.FAIL, 0.0, verdict.reason
            self._log(run, logging.ERROR, "job.dead", "dead: %s: %s (%s)", info.type, message, reason,
                      reason=reason, **told)  # fmt: skip
        else:
            event, delay, reason = Event.BACK_OFF, verdict.delay, None
            self._log(run, logging.ERROR, "job.failed", "failed: %s: %s (next try in %s)", info.type, message,
                      format_duration(delay), next_try_in=round(delay, 3), **told)  # fmt: skip
        if run.plan.declaration.hooked:
            self._after(run, "on_failed", error)
        self._finisher.after(run.claim.token, None, partial(self._dropped, run, _seconds(run)))
        self._finisher.unfinished(
            Unfinished(
                token=run.claim.token,
                event=event,
                started_at=run.started_us,
                delay=delay,
                error=msgspec.json.encode(info).decode(),
                reason=reason,
                progress=run.progress,
                keep=_kept(run.policy.remove_on_fail),
                crash=isinstance(error, ProcessDied),
                elsewhere=event is Event.BACK_OFF and self._may_wait_for_another(run),
                member=_member(run.claim),
            )
        )

    def _may_wait_for_another(self, run: Run) -> bool:
        """In burst mode the others may have ended by then, and this one would too, with the job still waiting."""
        return not self._settings.burst and self._neighbours.may_take(run)

    def refuse(self, run: Run, error: PayloadError) -> None:
        """A payload that does not decode: dead at once, with the reason; nothing was run."""
        info = describe_error(error, redact)
        run.final = True
        self._log(run, logging.ERROR, "job.dead", "dead: %s", info.message, reason=info.message,
                  error={"type": info.type, "message": info.message})  # fmt: skip
        if run.plan.declaration.hooked:
            self._after(run, "on_failed", error)
        self._finisher.unfinished(
            Unfinished(
                token=run.claim.token,
                event=Event.FAIL,
                error=msgspec.json.encode(info).decode(),
                reason=info.message.replace("\0", "\\0"),  # Not every store can hold it.
                keep=_kept(run.policy.remove_on_fail),
                member=_member(run.claim),
            )
        )

    def stopped(self, run: Run) -> None:
        """The attempt was told to stop, and that decides."""
        if run.stop is Stop.TIMEOUT:
            limit = format_duration(run.limit or 0.0)
            self.fail(run, TimeoutError(f"the attempt took longer than its timeout of {limit}"))
        elif run.stop is Stop.CANCELLED:
            took = _seconds(run)
            told = partial(self._log, run, logging.INFO, "job.cancelled", "cancelled", took=took)
            self._finisher.after(run.claim.token, told, partial(self._dropped, run, took))
            self._finisher.unfinished(
                Unfinished(
                    token=run.claim.token,
                    event=Event.CANCEL,
                    started_at=None if run.waiting else run.started_us,
                    reason="cancelled while it was running",
                    progress=run.progress,
                    member=_member(run.claim),
                )
            )
        elif run.stop is Stop.RELEASED:
            self._log(run, logging.INFO, "job.released", "released")
            self.release(run.claim, "the worker stopped")
        else:
            self._log(run, logging.WARNING, "job.lost",
                      "lost: the job was taken from this worker; its outcome here is dropped")  # fmt: skip

    def release(self, claim: Claim, reason: str, delay: float = 0.0) -> None:
        """Give a job back, for so many seconds at least; no attempt is spent."""
        end = Unfinished(token=claim.token, event=Event.RELEASE, delay=delay, reason=reason, member=_member(claim))
        self._finisher.unfinished(end)

    def started(self, run: Run) -> None:
        """Log the beginning of an attempt; only called where that is wanted."""
        self._log(run, logging.INFO, "job.started", "started", payload=self._shown(run.claim.payload))

    def progressed(self, run: Run, text: str) -> None:
        """New progress of this run, which is stored or about to be: tell the log and the hook."""
        run.reported = text
        if run.plan.logger.isEnabledFor(logging.DEBUG):
            self._log(run, logging.DEBUG, "job.progress", "progress %s", text)
        if "on_progress" in run.plan.declaration.hooked:
            self._hooks.tell_progress(run, msgspec.json.decode(text, type=Progress))

    def _after(self, run: Run, hook: str, *args: Any) -> None:
        """Call the hook once the outcome is stored: the last progress comes before it."""
        if run.progress is not None and run.progress != run.reported:
            self.progressed(run, run.progress)
        if hook in run.plan.declaration.hooked:
            self._finisher.after(run.claim.token, lambda: self._hooks.call(run, hook, *args))

    def _shown(self, text: str | None) -> str | None:
        """Payloads and results may hold secrets: logged only when that was asked for."""
        return text if self._settings.log_payloads else None

    def _log(self, run: Run, level: int, event: str, message: str, *args: Any, took: float | None = None,
             **values: Any) -> None:  # fmt: skip
        logger, claim = run.plan.logger, run.claim
        if not logger.isEnabledFor(level):
            return
        extra = fields(event, **job_fields(claim), worker_id=self._settings.worker_id,
                       duration_ms=None if event in UNDER_WAY else _milliseconds(run, took),
                       **values)  # fmt: skip
        shown = values.get("payload") or values.get("result")
        logger.log(level, f"%s attempt %d {message}{' %s' if shown else ''}", claim.id, claim.attempt, *args,
                   *((shown,) if shown else ()), extra=extra)  # fmt: skip


def log_claimed(claims: list[Claim]) -> None:
    for claim in claims:
        log.debug("claimed %s %s", claim.type, claim.id, extra=fields("job.claimed", **job_fields(claim)))


def _for_hook(run: Run, result: Any) -> Any:
    """The result as the handler returned it; from a child process it comes as JSON."""
    if not isinstance(result, msgspec.Raw):
        return result
    plain, kind = decode_json(bytes(result)), run.plan.declaration.result_type
    try:
        return plain if kind is None else from_plain(kind, plain)
    except Exception:  # It is not what the annotation says, or the type's own code raised.
        return plain


def _seconds(run: Run) -> float:
    """How long the attempt has taken: the loop's clock is the monotonic one, and in uvloop it may lag a little."""
    return time.monotonic() - run.started


def _milliseconds(run: Run, took: float | None) -> float:
    return round((_seconds(run) if took is None else took) * 1000, 1)


def _member(claim: Claim) -> str | None:
    """Its id, if it belongs to a workflow, which is to be told of its end."""
    return None if claim.parent is None or not is_workflow(claim.parent) else claim.id


def _kept(remove: bool | int) -> bool | int:
    """What to keep of an ended job: all, nothing, or the last N of its type."""
    return not remove if isinstance(remove, bool) else remove
