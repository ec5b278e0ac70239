"""How attempts end: what a result, an error or a stop means for the store, the log and the hooks."""

from __future__ import annotations

import logging
import random
import time
from contextlib import suppress
from typing import Any

import msgspec

from penstock.client.client import Client
from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.duration import format_duration
from penstock.domain.errors import HandlerError, PayloadError, ProcessDied, UsageError
from penstock.domain.failure.retry import GiveUp, PutOff, Verdict, decide, describe_error, put_off, redacted
from penstock.domain.job import ErrorInfo, Event, Progress, State
from penstock.domain.options import Policy
from penstock.domain.payload import decode_json, encode_json, from_plain
from penstock.domain.workflows import is_workflow
from penstock.observe.events import Ended, EndedBatch, Events, Quiet
from penstock.observe.job_log import log_attempt
from penstock.observe.logs import fields, job_fields
from penstock.observe.redaction import log_error, redact
from penstock.store.call import Call
from penstock.store.contract import ALL_STORED, Claim, Completed, Finished, Unfinished
from penstock.worker.claiming.other_workers import OtherWorkers
from penstock.worker.finishing.finisher import NOTHING, Attached, Finisher
from penstock.worker.running.follow_ups import follow_ups_of
from penstock.worker.running.hooks import HookCalls
from penstock.worker.running.run import FinishedIn, Run, StopReason
from penstock.worker.settings import WorkerSettings

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


def judge(run: Run, error: BaseException) -> Verdict:
    """What follows this error, if it is one: the handler's own opinion first, then the rules."""
    declaration, claim = run.plan.declaration, run.claim
    verdict = put_off(run.policy, claim.snoozes, error)
    if verdict is not None:
        return verdict
    if "is_retryable" in declaration.hooked and declaration.hooks is not None:
        try:
            if not declaration.hooks.is_retryable(error):
                return GiveUp("the handler said that it is not retryable")
        except Exception as broken:
            log_error(log, logging.ERROR, broken, "is_retryable of %s raised; the usual rules decide", declaration.name)
    return decide(run.policy, claim.attempt, error, random.random, time.time_ns() // 1000)


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
                 others: OtherWorkers, events: Events) -> None:  # fmt: skip
        self._finisher = finisher
        self._events = events
        self._client = client
        self._settings = settings
        self._hooks = hooks
        self._others = others

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
        if run.plan.chatty or self._events.every_success:
            self._finisher.tell(Ended(run.claim, done, _seconds(run), result=self._shown(done.result)))
        if run.plan.declaration.hooked:
            self._after(run, "on_complete", _for_hook(run, result))
        if attached is NOTHING and done.member is None:
            self._finisher.completed(run.claim, done, run.started)
        else:
            self._finisher.completed(run.claim, done, run.started, attached, lambda error: self.fail(run, error))

    # Completion in a transaction of the handler's

    def finish_in(self, run: Run, conn: object, result: Any) -> Call[Finished]:
        """The completion as a call that joins the handler's transaction."""
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
        cancelled = state is State.CANCELLED
        done = Completed(run.claim.token, run.started_us)
        if cancelled or run.plan.chatty or self._events.every_success:
            self._tell(run, done, Finished(cancelled=[done.token]) if cancelled else ALL_STORED)
        else:
            quiet = Quiet([run.claim], [done], [_seconds(run)])
            self._events.ended(EndedBatch(self._settings.worker_id, (), quiet=quiet))
        if cancelled:
            return
        if error is not None:
            log_error(log, logging.WARNING, error, "%s raised after its own transaction had completed the job",
                      run.describe())  # fmt: skip
        if run.plan.declaration.hooked:
            if run.progress is not None and run.progress != run.reported:
                self.progressed(run, run.progress)
            self._hooks.call(run, "on_complete", _for_hook(run, said.result))

    # Endings without success

    def fail(self, run: Run, error: BaseException) -> None:
        if isinstance(error, ChildError):
            info, verdict = redacted(error.described, redact), error.verdict
        else:
            info = describe_error(error, redact)
            verdict = judge(run, error)
        if isinstance(verdict, PutOff):
            self._put_off(run, verdict)
            return
        run.final = isinstance(verdict, GiveUp)
        if run.plan.declaration.hooked:
            self._after(run, "on_failed", error)
        event = Event.FAIL if isinstance(verdict, GiveUp) else Event.BACK_OFF
        self._hand_in(
            run,
            _unfinished(
                run.claim,
                event,
                verdict.reason,
                started_at=run.started_us,
                delay=0.0 if isinstance(verdict, GiveUp) else verdict.delay,
                progress=run.progress,
                keep=_kept(run.policy.remove_on_fail),
                crash=isinstance(error, ProcessDied),
                elsewhere=event is Event.BACK_OFF and self._may_wait_for_another(run),
            ),
            info,
        )

    def _put_off(self, run: Run, snooze: PutOff) -> None:
        """The handler has snoozed: the job comes back without having failed."""
        times, most = run.claim.snoozes + 1, run.policy.snoozes
        due_at = from_us(run.started_us + int((_seconds(run) + snooze.delay) * MICROSECONDS))
        message = redact(snooze.message).replace("\0", "\\0")  # Not every store can hold it.
        reason = f"snoozed until {due_at:%Y-%m-%d %H:%M:%S} UTC ({times} of {most}): {message}"
        began = {"started_at": run.started_us, "progress": run.progress}
        self._hand_in(run, _unfinished(run.claim, Event.SNOOZE, reason, delay=snooze.delay, **began))

    def _may_wait_for_another(self, run: Run) -> bool:
        """In burst mode the others may have ended by then, and this one would too, with the job still waiting."""
        return not self._settings.burst and self._others.may_take(run)

    def refuse(self, run: Run, error: PayloadError) -> None:
        """A payload that does not decode: dead at once, with the reason; nothing was run."""
        info = describe_error(error, redact)
        run.final = True
        if run.plan.declaration.hooked:
            self._after(run, "on_failed", error)
        reason = info.message.replace("\0", "\\0")  # Not every store can hold it.
        end = _unfinished(run.claim, Event.FAIL, reason, keep=_kept(run.policy.remove_on_fail))
        self._hand_in(run, end, info, began=False)

    def stopped(self, run: Run) -> None:
        """The attempt was told to stop, and that decides."""
        if run.stop is StopReason.TIMEOUT:
            limit = format_duration(run.limit or 0.0)
            self.fail(run, TimeoutError(f"the attempt took longer than its timeout of {limit}"))
        elif run.stop is StopReason.CANCELLED:
            began = {"started_at": None if run.waiting else run.started_us, "progress": run.progress}
            self._hand_in(run, _unfinished(run.claim, Event.CANCEL, "cancelled while it was running", **began))
        elif run.stop is StopReason.RELEASED:
            self._hand_in(run, _unfinished(run.claim, Event.RELEASE, "the worker stopped"))
        else:
            self._tell(run, _unfinished(run.claim, Event.RELEASE, "lost"), Finished([run.claim.token]))

    def release(self, claim: Claim, reason: str, delay: float = 0.0) -> None:
        """Give a job back that has not begun, for so many seconds at least; no attempt is spent."""
        end = _unfinished(claim, Event.RELEASE, reason, delay=delay)
        self._finisher.tell(Ended(claim, end))
        self._finisher.unfinished(claim, end)

    def _hand_in(self, run: Run, end: Unfinished, error: ErrorInfo | None = None, began: bool = True) -> None:
        if error is not None:
            end = msgspec.structs.replace(end, error=msgspec.json.encode(error).decode())
        seconds = _seconds(run) if began and not run.waiting else None
        late = run.stop is StopReason.TIMEOUT
        self._finisher.tell(Ended(run.claim, end, seconds, error, timed_out=late))
        self._finisher.unfinished(run.claim, end)

    def _tell(self, run: Run, end: Completed | Unfinished, answer: Finished) -> None:
        """Of an attempt whose outcome is not handed in."""
        self._events.ended(EndedBatch(self._settings.worker_id, [Ended(run.claim, end, _seconds(run))], answer))

    def claimed(self, claims: list[Claim], claimed_at: int) -> None:
        self._events.claimed(self._settings.worker_id, claims, claimed_at)
        if log.isEnabledFor(logging.DEBUG):
            for claim in claims:
                known = job_fields(claim)
                extra = fields("job.claimed", **known, worker_id=self._settings.worker_id)
                with suppress(Exception):  # As in log_attempt().
                    log.debug("claimed %s %s", claim.type, claim.id, extra=extra)

    def started(self, run: Run) -> None:
        """Log the beginning of an attempt; only called where that is wanted."""
        self._log(run, logging.INFO, "job.started", "started", payload=self._shown(run.claim.payload))

    def progressed(self, run: Run, text: str) -> None:
        """New progress of this run, which is stored or about to be: tell the log and the hook."""
        run.reported = text
        if run.plan.logger.isEnabledFor(logging.DEBUG):
            self._log(run, logging.DEBUG, "job.progress", f"progress {text}")
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

    def _log(self, run: Run, level: int, event: str, message: str, **values: Any) -> None:
        log_attempt(run.plan.logger, level, event, self._settings.worker_id, run.claim, message, **values)


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


def _unfinished(claim: Claim, event: Event, reason: str | None, **more: Any) -> Unfinished:
    return Unfinished(token=claim.token, event=event, reason=reason, member=_member(claim), **more)


def _member(claim: Claim) -> str | None:
    """Its id, if it belongs to a workflow, which is to be told of its end."""
    return None if claim.parent is None or not is_workflow(claim.parent) else claim.id


def _kept(remove: bool | int) -> bool | int:
    """What to keep of an ended job: all, nothing, or the last N of its type."""
    return not remove if isinstance(remove, bool) else remove
