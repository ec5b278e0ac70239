"""What a handler knows about the job it runs, and what it can say while it runs (J6)."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, cast

from penstock.client.client import JobCall, refuse_foreign, refuse_in_loop
from penstock.client.workflow import Workflow
from penstock.domain.clock import from_us
from penstock.domain.current_call import running
from penstock.domain.errors import LeaseLost, PayloadError, UsageError
from penstock.domain.job import Progress
from penstock.domain.options import Tenant
from penstock.domain.payload import encode_json
from penstock.observe.logs import JobLogger, job_fields
from penstock.store.call import Call
from penstock.store.contract import Finished
from penstock.worker.running.once import Effect
from penstock.worker.running.run import BatchCall, FinishedIn, Run, Unit
from penstock.worker.running.step_results import asked_results, gathered

PROGRESS_BYTES_MAX = 16 * 1024


def current() -> Context:
    """The context of the running job, anywhere below its handler."""
    unit = cast(Unit | None, running.get(None))
    if unit is None:
        raise UsageError("penstock.current() was called outside of a job's handler")
    if unit.batched:
        raise UsageError(
            "penstock.current() was called in a batch handler, which runs several jobs: "
            "take a first parameter annotated BatchContext and use its jobs"
        )
    return Context(unit)


def context_of(unit: Unit) -> Context | BatchContext:
    """What a handler that wants a context gets."""
    return BatchContext(unit) if unit.batched else Context(unit)


class Context:
    """The running attempt. A first parameter annotated `Context` receives it."""

    __slots__ = ("_claim", "_run")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._claim = run.claim

    @property
    def id(self) -> str:
        return self._claim.id

    @property
    def type(self) -> str:
        return self._claim.type

    @property
    def queue(self) -> str:
        return self._claim.queue

    @property
    def attempt(self) -> int:
        """Which run this is; the first is 1."""
        return self._claim.attempt

    @property
    def max_attempts(self) -> int:
        return self._run.policy.attempts

    @property
    def snoozes(self) -> int:
        """How often the job was put off by raising Snooze, over all its attempts."""
        return self._claim.snoozes

    @property
    def final(self) -> bool:
        """Whether a failure now would be the last; in on_failed, whether it was."""
        run = self._run
        return self._claim.attempt >= run.policy.attempts if run.final is None else run.final

    @property
    def tenant(self) -> Tenant | None:
        return self._claim.tenant

    @property
    def tags(self) -> tuple[str, ...]:
        return self._claim.tags or ()

    @property
    def resources(self) -> Any:
        """What the app's lifespan yielded, once per worker."""
        return self._run.plan.resources

    @property
    def due_at(self) -> datetime:
        """When this attempt was due: of a scheduled job its tick, of a retry the end of its delay."""
        return from_us(self._claim.due_at)

    @property
    def deadline(self) -> datetime | None:
        """When this attempt times out."""
        run = self._run
        return None if run.deadline is None else from_us(run.started_us + int((run.deadline - run.started) * 1e6))

    @property
    def cancelled(self) -> bool:
        """True once the job was asked to stop: a plain handler in a thread should look at it and return."""
        return self._run.cancelled

    @property
    def token(self) -> int:
        """The fencing token: larger than that of every earlier claim. Pass it to systems that can check it."""
        return self._claim.token

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this job, different for every job."""
        return self._claim.id

    @property
    def logger(self) -> logging.LoggerAdapter[logging.Logger]:
        """A logger whose records carry the job's id, type, queue, attempt, and its tenant and tags if it has any."""
        known = {name: value for name, value in job_fields(self._claim).items() if value is not None}
        return JobLogger(self._run.plan.logger, known)

    def enqueue(self, call: JobCall[Any] | Workflow) -> None:
        """Enqueue a follow-up together with this job's completion: both are stored or neither. It is a call made by
        bind(), or a workflow.

        It has this job's tenant and tags, unless it has its own.
        """
        if not isinstance(call, (JobCall, Workflow)):
            raise UsageError(f"ctx.enqueue() takes a call made by bind() or a workflow, not {type(call).__name__}")
        if isinstance(call, JobCall) and self._run.plan.registry is not None:
            refuse_foreign(call, self._run.plan.registry)
        if self._run.over:
            raise UsageError("ctx.enqueue() goes with a job's completion, and this attempt has ended: use aenqueue()")
        if self._run.finished_in is not None:
            raise UsageError(
                "ctx.enqueue() goes with a job's completion, which ctx.finish_in() has stored: call it before, or use "
                "using(conn=…).enqueue()"
            )
        if isinstance(call, Workflow):
            self._run.workflows += (call.planned(self._claim),)
        else:
            self._run.follow_ups += (call,)

    def results(self, step: str) -> Any:
        """What the jobs of an earlier step of this job's workflow returned: the result of its one job, or, if the step
        was given a list of calls, a list with one for each, in their order. Where a job did not complete, Failed stands
        for it. For plain handlers.
        """
        refuse_in_loop("ctx.results", "ctx.aresults")
        plan = self._run.plan
        return gathered(plan.store.read_results(asked_results(self._claim, step)).wait(), step, plan.registry)

    async def aresults(self, step: str) -> Any:
        """The same as results(), for async handlers."""
        plan = self._run.plan
        return gathered(await plan.store.read_results(asked_results(self._claim, step)), step, plan.registry)

    def finish_in(self, conn: object, result: Any = None) -> None:
        """Store this job's completion in a transaction of yours, with its result and the follow-ups so far.

        If your transaction commits, the job is completed with it; if not, nothing was said. LeaseLost means that the
        job is no longer this attempt's: let it end your transaction. What the handler returns afterwards is ignored;
        it must not return before the transaction has ended. For plain handlers; `conn` is as for using(conn=…).
        """
        refuse_in_loop("ctx.finish_in", "ctx.afinish_in")
        with self._finishing(conn, result) as call:
            self._refuse_lost(call.wait())

    async def afinish_in(self, conn: object, result: Any = None) -> None:
        """The same as finish_in(), for async handlers."""
        with self._finishing(conn, result) as call:
            self._refuse_lost(await call)

    @contextmanager
    def _finishing(self, conn: object, result: Any) -> Iterator[Call[Finished]]:
        """An error in the block means that nothing was said."""
        run = self._run
        if run.over or run.plan.complete is None:
            raise UsageError("ctx.finish_in() is too late: this attempt has ended")
        call = run.plan.complete(run, conn, result)
        before, run.finished_in = run.finished_in, FinishedIn(result)
        try:
            yield call
        except BaseException:
            run.finished_in = before
            raise

    def _refuse_lost(self, told: Finished) -> None:
        if told.lost:
            raise LeaseLost(
                f"job {self.id} is no longer attempt {self.attempt}'s: it was recovered, cancelled or ended elsewhere; "
                "let this error end your transaction"
            )

    def once(self, key: str, effect: Callable[[], Any]) -> Any:
        """Run an effect at most once for this job, whatever number of attempts it takes, and return its value (JSON).

        The first attempt that comes here runs it; later ones get the stored value. If the effect raises, it counts as
        not run. If the attempt is cut off while it runs, whether it happened is unknown: later attempts get
        OnceUncertain and do not run it again. For plain handlers.
        """
        refuse_in_loop("ctx.once", "ctx.aonce")
        once = Effect(self._run, key)
        found = once.store.begin_once(once.begin).wait()
        if not once.decide(found):
            return once.value_of(found.value)
        once.begun()
        try:
            end = once.done(effect())
        except Exception:
            once.store.end_once(once.undone()).wait()
            raise
        once.refuse_lost(once.store.end_once(end).wait())
        return once.value_of(end.value)

    async def aonce(self, key: str, effect: Callable[[], Any]) -> Any:
        """The same as once(), for async handlers; the effect may be async or plain."""
        once = Effect(self._run, key)
        found = await once.store.begin_once(once.begin)
        if not once.decide(found):
            return once.value_of(found.value)
        once.begun()
        try:
            value = effect()
            end = once.done(await value if inspect.isawaitable(value) else value)
        except Exception:
            await once.store.end_once(once.undone())
            raise
        once.refuse_lost(await once.store.end_once(end))
        return once.value_of(end.value)

    def report(self, percent: float | None = None, *, phase: str | None = None, **data: Any) -> None:
        """Say how far the job is. Stored at most twice a second, the last always."""
        if percent is not None:
            percent = _checked(percent)
        if phase is not None and not isinstance(phase, str):
            raise PayloadError(f"phase={phase!r} is not possible: a text")
        self._run.say(encode_json(Progress(percent, phase, data or None), "progress", PROGRESS_BYTES_MAX))

    async def progress(self, percent: float | None = None, *, phase: str | None = None, **data: Any) -> None:
        """The same as report(), for async handlers."""
        self.report(percent, phase=phase, **data)


def _checked(percent: float) -> float:
    """Rounded, because a sum of floats easily steps over 100 by a hair."""
    if not isinstance(percent, (int, float)) or isinstance(percent, bool) or not 0 <= round(percent, 3) <= 100:
        raise PayloadError(f"percent={percent!r} is not possible: a number from 0 to 100")
    return round(percent, 3)


class BatchContext:
    """The running call of a batch handler. A first parameter annotated `BatchContext` receives it."""

    __slots__ = ("_call",)

    def __init__(self, call: BatchCall) -> None:
        self._call = call

    @property
    def jobs(self) -> list[Context]:
        """The context of each job, in the order of the items."""
        return [Context(run) for run in self._call.runs]

    @property
    def resources(self) -> Any:
        """What the app's lifespan yielded, once per worker."""
        return self._call.plan.resources

    @property
    def deadline(self) -> datetime | None:
        """When this call times out."""
        return Context(self._call.runs[0]).deadline

    @property
    def cancelled(self) -> bool:
        """True once every job of the call was asked to stop."""
        return all(run.cancelled for run in self._call.runs)

    @property
    def logger(self) -> logging.Logger:
        return self._call.plan.logger
