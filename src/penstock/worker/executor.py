"""Runs attempts: begin → decode → call → judge → hand the outcome to the finisher. Knows slots, not the store."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.client import Client
from penstock.domain.duration import format_duration
from penstock.domain.errors import PayloadError
from penstock.domain.job import Event
from penstock.domain.options import Policy, decode_policy
from penstock.domain.payload import encode_json
from penstock.domain.registry import Registry
from penstock.domain.retry import GiveUp, decide, describe_error
from penstock.store.params import Claim, Completed, Unfinished
from penstock.worker.coroutines import Coroutines
from penstock.worker.deadlines import Deadlines
from penstock.worker.finisher import Finisher
from penstock.worker.run import Plan, Run, Stop
from penstock.worker.settings import WorkerSettings
from penstock.worker.threads import Threads

STOP_SECONDS = 5.0

log = logging.getLogger("penstock.worker")


class Executor:
    """The slots of a worker: what runs, what is buffered, and how each attempt ends."""

    def __init__(
        self,
        registry: Registry,
        client: Client,
        finisher: Finisher,
        settings: WorkerSettings,
        resources: Any,
        failed: Callable[[BaseException], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._registry = registry
        self._client = client
        self._finisher = finisher
        self._settings = settings
        self._resources = resources
        self._failed = failed
        self._offset_us = 0
        self.active: dict[int, Run] = {}
        self.buffer: deque[Claim] = deque()
        self.ended = 0
        self.low_water = 0
        """When the buffer has sunk to this, the claimer should bring more."""
        self.room = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()
        self._threads = Threads(self._loop, settings.concurrency, self._end)
        self._coroutines = Coroutines(self._loop, self._end)
        self._deadlines = Deadlines(self._loop, lambda: self.active.values(), self._time_out)
        self._plans: dict[str, Plan] = {}

    # Taking work

    def take(self, claims: list[Claim], claimed_at_us: int) -> None:
        """Begin what fits into the slots; buffer the rest. The store's clock is kept as an offset to ours."""
        self._offset_us = claimed_at_us - int(self._loop.time() * 1e6)
        self._plans.clear()
        self.buffer.extend(claims)
        self.idle.clear()
        self._fill()
        self._note_idle()

    def _note_idle(self) -> None:
        if not self.active and not self.buffer:
            self.idle.set()

    def _fill(self) -> None:
        while self.buffer and len(self.active) < self._settings.concurrency:
            self._begin(self.buffer.popleft())

    def _begin(self, claim: Claim) -> None:
        plan = self._plans.get(claim.type) or self._new_plan(claim.type)
        policy = decode_policy(claim.policy)
        if plan is None:
            self._finisher.unfinished(
                Unfinished(token=claim.token, event=Event.RELEASE, reason="no handler for its type")
            )
            return
        try:
            args = plan.declaration.signature.decode(claim.payload)
        except PayloadError as error:
            self._refuse(claim, policy, error)
            return
        now = self._loop.time()
        self._start(Run(claim, plan, policy, args, now, int(now * 1e6) + self._offset_us))

    def _new_plan(self, name: str) -> Plan | None:
        declaration = self._registry.find(name)
        if declaration is None:
            return None
        plan = self._plans[name] = Plan(declaration, name)
        return plan

    def _start(self, run: Run) -> None:
        run.resources = self._resources
        self.active[run.claim.token] = run
        limit = self._limit(run.policy)
        if limit is not None:
            deadline = run.deadline = run.started + limit
            if deadline < self._deadlines.armed_for:
                self._deadlines.watch(deadline)
        if run.plan.chatty:
            self._log(run, logging.INFO, "started")
        if run.plan.declaration.is_async:
            self._coroutines.start(run)
        else:
            self._threads.start(run)

    def _limit(self, policy: Policy) -> float | None:
        ceiling = self._settings.job_timeout
        if ceiling is None or policy.timeout is None:
            return policy.timeout if ceiling is None else ceiling
        return min(policy.timeout, ceiling)

    # Running

    def _end(self, run: Run, result: Any, error: BaseException | None) -> None:
        """The handler returned or raised. If the attempt was stopped, that decides; a late answer is ignored."""
        if run.over:
            return
        try:
            if run.stop is not None:
                self._end_stopped(run)
            elif error is None:
                self._succeed(run, result)
            else:
                self._fail(run, error)
            self._leave(run)
        except Exception as broken:
            # A defect here must not leave a slot taken for ever: the worker stops, loudly, and its jobs are recovered.
            log.exception("could not end %s", run.describe())
            self._failed(broken)

    def _leave(self, run: Run) -> None:
        run.over = True
        self.ended += 1
        del self.active[run.claim.token]
        if self.buffer:
            self._fill()
        if len(self.buffer) <= self.low_water:
            self.room.set()
            self._note_idle()

    # Judging

    def _succeed(self, run: Run, result: Any) -> None:
        try:
            text = None if result is None else encode_json(result, f"the result of {run.claim.type}")
        except Exception as error:  # The result's own code runs here and may raise anything.
            self._fail(run, error)
            return
        if run.plan.chatty:
            self._log(run, logging.INFO, "completed")
        claim = run.claim
        self._finisher.completed(
            Completed(claim.token, run.started_us, text, run.progress, _kept(run.policy.remove_on_complete)),
            [(claim.token, self._client.follow_up(call, claim.id)) for call in run.follow_ups],
        )

    def _fail(self, run: Run, error: BaseException) -> None:
        verdict = decide(run.policy, run.claim.attempt, error, random.random)
        info = describe_error(error)
        error.__traceback__ = None
        if isinstance(verdict, GiveUp):
            event, delay, reason = Event.FAIL, 0.0, verdict.reason
            self._log(run, logging.ERROR, "dead: %s: %s (%s)", info.type, info.message[:500], verdict.reason)
        else:
            event, delay, reason = Event.BACK_OFF, verdict.delay, None
            self._log(
                run,
                logging.ERROR,
                "failed: %s: %s (next try in %s)",
                info.type,
                info.message[:500],
                format_duration(delay),
            )
        self._finisher.unfinished(
            Unfinished(
                token=run.claim.token,
                event=event,
                started_at=run.started_us,
                delay=delay,
                error=msgspec.json.encode(info).decode(),
                reason=reason,
                keep=_kept(run.policy.remove_on_fail),
            )
        )

    def _refuse(self, claim: Claim, policy: Policy, error: PayloadError) -> None:
        """A payload that does not decode: dead at once, with the reason; nothing was run."""
        info = describe_error(error)
        log.error("%s %s is dead: %s", claim.type, claim.id, info.message)
        self._finisher.unfinished(
            Unfinished(
                token=claim.token,
                event=Event.FAIL,
                error=msgspec.json.encode(info).decode(),
                reason=info.message,
                keep=_kept(policy.remove_on_fail),
            )
        )
        self.ended += 1
        self.room.set()

    def _end_stopped(self, run: Run) -> None:
        if run.stop is Stop.TIMEOUT:
            limit = self._limit(run.policy) or 0.0
            self._fail(run, TimeoutError(f"the attempt took longer than its timeout of {format_duration(limit)}"))
        elif run.stop is Stop.CANCELLED:
            self._log(run, logging.INFO, "cancelled")
            self._finisher.unfinished(Unfinished(token=run.claim.token, event=Event.CANCEL, started_at=run.started_us,
                                                 reason="cancelled while it was running"))  # fmt: skip
        elif run.stop is Stop.RELEASED:
            self._log(run, logging.INFO, "released")
            self._finisher.unfinished(
                Unfinished(token=run.claim.token, event=Event.RELEASE, reason="the worker stopped")
            )
        else:
            self._log(run, logging.WARNING, "lost: the job was taken from this worker; its outcome here is dropped")

    # Stopping

    def _time_out(self, run: Run) -> None:
        if run.stop is None:
            self.stop(run, Stop.TIMEOUT)
        elif run.interrupt is not None:
            log.error(
                "%s does not stop when it is cancelled (it swallows CancelledError); it was given up and still runs",
                run.describe(),
            )
            self._give_up(run)

    def stop(self, run: Run, why: Stop) -> None:
        """Tell an attempt to stop: async handlers are cancelled; threads see a flag and, timed out, are given up."""
        if run.stop is not None or run.over:
            return
        run.stop = why
        run.cancelled = True
        if run.interrupt is not None:
            run.interrupt()
            run.deadline = self._loop.time() + STOP_SECONDS
            self._deadlines.watch(run.deadline)
        elif run.plan.declaration.is_async:
            self._end(run, None, None)  # Its first step has not come yet, and now it never will.
        elif why is Stop.CANCELLED:
            run.stop = None  # A thread goes on until it looks at the flag; the store ignores its result.
        else:
            if why is Stop.TIMEOUT:
                log.error("%s timed out; its thread cannot be stopped and was given up", run.describe())
            self._give_up(run)

    def _give_up(self, run: Run) -> None:
        if not run.plan.declaration.is_async:
            self._threads.give_up()
        self._end_stopped(run)
        self._leave(run)

    def stop_all(self, why: Stop) -> None:
        for run in list(self.active.values()):
            self.stop(run, why)

    def lose_all(self) -> None:
        """The store gave everything to others: begin nothing of it, stop what runs."""
        self.buffer.clear()
        self.stop_all(Stop.LOST)
        self._note_idle()

    def give_up_all(self) -> None:
        """Decide the outcome of what was told to stop and has not; its code may still run for a while."""
        for run in list(self.active.values()):
            log.error("%s did not stop in time and was given up", run.describe())
            self._give_up(run)

    def release_buffer(self) -> None:
        """Give back what was claimed and never begun; no attempt is spent."""
        while self.buffer:
            claim = self.buffer.popleft()
            self._finisher.unfinished(Unfinished(token=claim.token, event=Event.RELEASE, reason="the worker stopped"))
        self._note_idle()

    def close(self) -> None:
        self._deadlines.close()
        self._threads.close()

    def _log(self, run: Run, level: int, message: str, *args: Any) -> None:
        run.plan.logger.log(level, f"%s attempt %d {message}", run.claim.id, run.claim.attempt, *args)


def _kept(remove: bool | int) -> bool | int:
    """What to keep of an ended job: all, nothing, or the last N of its type."""
    return not remove if isinstance(remove, bool) else remove
