"""Runs attempts: begin → decode → gather or launch → end. Knows slots and runners, not the store.

One executor has the slots of one kind of work: of everything that runs on the event loop and in threads, of process
handlers, or of one batch type. What an outcome means is decided in outcomes.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from penstock.domain.errors import PayloadError
from penstock.domain.options import decode_policy
from penstock.domain.registry import Registry
from penstock.observe.redaction import log_error
from penstock.store.contract import Store
from penstock.store.params import Claim
from penstock.worker.batches import Batches, outcomes_of
from penstock.worker.coroutines import Coroutines
from penstock.worker.deadlines import Deadlines
from penstock.worker.doubt import Doubt
from penstock.worker.hooks import HookCalls
from penstock.worker.isolation import Isolation, Suspects
from penstock.worker.line import Line
from penstock.worker.outcomes import Outcomes, log_claimed
from penstock.worker.processes import Processes
from penstock.worker.quota import Quota
from penstock.worker.run import BatchCall, Plans, Run, Stop, Unit
from penstock.worker.threads import Abandoned, Threads

STOP_SECONDS = 5.0
PERMIT_SECONDS = 0.1
"""How long after its claim a job with limits may begin: the moment of its claim is what was counted."""
FULL = "its worker is full of threads that were given up"
_ALONE = (Stop.CANCELLED, Stop.LOST)  # What concerns one job of a call and not its neighbours.

log = logging.getLogger("penstock.worker")


class Executor:
    """The slots of one line of work: what runs, what is buffered, and how each attempt ends."""

    def __init__(self, line: Line, registry: Registry, outcomes: Outcomes, hooks: HookCalls, store: Store,
                 processes: Processes, isolation: Isolation, resources: Any, quota: Quota,
                 failed: Callable[[BaseException], None], jammed: Callable[[str], None]) -> None:  # fmt: skip
        self._loop = asyncio.get_running_loop()
        self.line = line
        self._outcomes = outcomes
        self._hooks = hooks
        self._processes = processes
        self._isolation = isolation
        self._failed, self._jammed = failed, jammed
        self._offset_us = 0
        self.active: dict[int, Run] = {}
        self.buffer: deque[Claim] = deque()
        self._limited: dict[int, float] = {}
        self._suspects = Suspects(isolation, self._begin_isolated, self._begin_among_others, self._release,
                                  lambda: not self._doubt.arises(self._loop.time()))  # fmt: skip
        self._extra = 0
        """Slots taken by threads that were given up, less isolated attempts, which take none."""
        self.ended = 0
        self._quota = Quota(None, lambda: None) if line.processes else quota
        self.low_water = 0
        """When the buffer has sunk to this, the claimer should bring more."""
        self.lingering: dict[int, Claim] = {}
        """Attempts that were given up and whose code still runs."""
        self.freed: Callable[[Claim], None] = lambda claim: None
        """Told of every job that is no longer held here."""
        self.room, self.idle = asyncio.Event(), asyncio.Event()
        self.idle.set()
        self._threads = Threads(self._loop, line.slots, self._end)
        self._abandoned = Abandoned()
        self._coroutines = Coroutines(self._loop, self._end)
        if line.processes:
            isolation.join_processes(self._note_room)
        self._batches = Batches(self._loop, line.batching, line.calls, self._launch) if line.batching else None
        self._deadlines = Deadlines(self._loop, lambda: self.active.values(), self._time_out)
        self._doubt = Doubt(store, self._waiting, self._go_on, failed)
        self._plans = Plans(registry, store, resources, outcomes.finish_in)

    # Taking work

    def take(self, claims: list[Claim], claimed_at_us: int, asked: float) -> None:
        """Begin what fits into the slots; buffer the rest. `asked` is when the claim was sent, by the loop's clock."""
        self._doubt.take(asked, alone=not self.buffer)
        self._offset_us = claimed_at_us - int(self._loop.time() * 1e6)
        self._plans.forget()
        if claims and log.isEnabledFor(logging.DEBUG):
            log_claimed(claims)
        limited = [claim for claim in claims if claim.gates]
        if limited:  # They go first: what was counted is the moment of their claim.
            self._limited |= dict.fromkeys((claim.token for claim in limited), self._loop.time())
            claims = [claim for claim in claims if not claim.gates]
            self.buffer.extendleft(reversed(limited))
        self.buffer.extend(claims)
        self.idle.clear()
        self._fill()
        if self.buffer and self.jam is not None:  # It became full while this claim was on its way.
            self.give_back(FULL)
        self._note_idle()

    @property
    def occupied(self) -> int:
        """How many slots are taken. Isolated attempts take those of processes, whatever their line is."""
        return len(self.active) + (self._isolation.running if self.line.processes else self._extra)

    def tokens(self) -> list[int]:
        return [*self.active, *(claim.token for claim in self.unbegun())]

    def unbegun(self) -> Iterator[Claim]:
        """What is claimed here and has not begun."""
        yield from self.buffer
        yield from self._suspects.claims()

    def held(self) -> Iterator[Claim]:
        """What is claimed here and has not ended: begun, buffered, or given up and still running."""
        yield from (run.claim for run in self.active.values())
        yield from self.unbegun()
        yield from self.lingering.values()

    def drop(self, token: int) -> None:
        """A job that has not begun here is no longer ours."""
        for claim in [claim for claim in self.unbegun() if claim.token == token]:
            if self._suspects.pop(token) is None:
                self.buffer.remove(claim)
            self.freed(claim)
        self.room.set()
        self._note_idle()

    def _waiting(self) -> tuple[list[int], list[tuple[int, int]]]:
        """The tokens of what has not begun, and the starts of those that are next."""
        now, free = int(self._loop.time() * 1e6) + self._offset_us, max(0, self.line.slots - self.occupied)
        return [one.token for one in self.unbegun()], [(one.token, now) for one in islice(self.buffer, free)]

    def _go_on(self, lost: list[int]) -> None:
        """The store has said what is still ours."""
        for token in lost:
            self.drop(token)
        self._note_room()
        self._suspects.look()
        self._note_idle()

    def _note_idle(self) -> None:
        if not self.active and not self.buffer and not self._suspects:
            self._limited.clear()
            self.idle.set()

    def _fill(self) -> None:
        """Begin what is next, while there are slots: for every job that ends, so with no call more than it needs."""
        buffer = self.buffer
        if not buffer or self._doubt.arises(now := self._loop.time()):
            return
        while buffer and self._quota.left > 0:
            others = self._isolation.running if self.line.processes else self._extra
            if len(self.active) + others >= self.line.slots:
                return
            claim = buffer.popleft()
            if claim.crashes and self._is_suspect(claim):
                continue
            self._quota.take()
            self._begin(claim, now)

    def resize(self, line: Line) -> None:
        """Other slots from now on. With fewer, what runs finishes and what was claimed ahead goes back."""
        before, self.line = self.line, line
        if line.slots < before.slots:
            self.buffer.extend(self._suspects.clear())
            self.give_back("the worker was given fewer slots")
        self._threads.resize(line.slots - before.slots)
        self._extra += self._abandoned.slots(line) - self._abandoned.slots(before)
        if self._batches is not None:
            self._batches.resize(line.calls - before.calls)
        self._note_room()
        self._note_idle()

    @property
    def room_left(self) -> int:
        """How many more jobs it makes sense to claim: before this process is replaced, or while it can begin any."""
        return self._quota.left - len(self.buffer) if self.jam is None else 0

    # What crashed before: see isolation.py

    def _is_suspect(self, claim: Claim) -> bool:
        """Whether it is seen to there. What runs in a process anyway is isolated as it is."""
        if self.line.processes or self._plans.get(claim.type) is None:
            return False
        self._limited.pop(claim.token, None)  # That it may have to wait is worth a little less precision.
        return self._suspects.take(claim, self.line.slots)

    def _begin_isolated(self, claim: Claim) -> None:
        self._extra -= 1
        self._quota.take()
        if not self._begin(claim, self._loop.time(), isolated=True):
            self._leave_isolation()

    def _leave_isolation(self) -> None:
        self._extra += 1
        self._isolation.leave_place()

    def _begin_among_others(self, claim: Claim) -> None:
        self.buffer.appendleft(claim)
        self._fill()

    def cancel_suspect(self, token: int) -> None:
        """A person has cancelled it: given back, it ends cancelled."""
        if (claim := self._suspects.pop(token)) is not None:
            self._release(claim, "cancelled before it began")

    def _let_go(self, claim: Claim, why: str, delay: float = 0.0) -> None:
        self._outcomes.release(claim, why, delay)
        self.freed(claim)

    def _release(self, claim: Claim, why: str, delay: float = 0.0) -> None:
        self._let_go(claim, why, delay)
        self.room.set()
        self._note_idle()

    def _begin(self, claim: Claim, now: float, isolated: bool = False) -> bool:
        """Begin it, if it can begin."""
        plan = self._plans.made.get(claim.type) or self._plans.get(claim.type)
        policy = decode_policy(claim.policy)
        if plan is None:
            self._let_go(claim, "no handler for its type")
            return False
        if claim.gates and now - self._limited.pop(claim.token, now) > PERMIT_SECONDS:
            self._let_go(claim, "its turn was over before it could begin")
            return False
        run = Run(claim, plan, policy, None, now, int(now * 1e6) + self._offset_us)
        try:
            run.args = plan.declaration.signature.decode(claim.payload)
        except PayloadError as error:
            self._outcomes.refuse(run, error)
            self.ended += 1
            self.room.set()
            self.freed(claim)
            return False
        run.isolated = isolated
        self._start(run)
        return True

    def _start(self, run: Run) -> None:
        self.active[run.claim.token] = run
        if self._batches is not None and run.isolated:
            self._launch(BatchCall([run], isolated=True))
        elif self._batches is not None:
            self._batches.add(run)
        elif "on_start" in run.plan.declaration.hooked:
            self._hooks.before(run, self._launch)
        else:
            self._launch(run)

    # Running

    def _launch(self, unit: Unit) -> None:
        """Give the call to its runner. A process may have to be waited for; it says when it begins."""
        if unit.plan.declaration.runner != "process" and not unit.isolated:
            self._launch_here(unit)
            return
        for run in unit.runs:
            run.waiting = run.apart = True
        self._processes.start(unit, self.began, self._end, self._launch_among_others if unit.isolated else None)

    def _launch_among_others(self, unit: Unit, why: str) -> None:
        """No child can run it."""
        if (run := unit.runs[0]).over:
            return
        self._isolation.tell_impossible(run.claim, why)
        run.apart = run.isolated = False
        self._leave_isolation()
        if self._batches is not None:
            self._batches.add(run)
        else:
            self._launch_here(unit)

    def _launch_here(self, unit: Unit) -> None:
        self.began(unit)
        (self._coroutines if unit.plan.declaration.runner == "async" else self._threads).start(unit)

    def began(self, unit: Unit) -> None:
        """The handler is about to be called: from now on its time runs."""
        if unit.batched:
            limits = [limit for run in unit.runs if (limit := self._outcomes.limit(run.policy)) is not None]
            for run in unit.runs:
                run.call_of = unit
                self._began(run, min(limits, default=None))
        else:
            self._began(unit, self._outcomes.limit(unit.policy))

    def _began(self, run: Run, limit: float | None) -> None:
        if run.waiting:
            run.waiting = False
            run.started = self._loop.time()
            run.started_us = int(run.started * 1e6) + self._offset_us
        run.limit = limit
        if limit is not None:
            deadline = run.deadline = run.started + limit
            if deadline < self._deadlines.armed_for:
                self._deadlines.watch(deadline)
        if run.plan.chatty:
            self._outcomes.started(run)

    def _end(self, unit: Unit, result: Any, error: BaseException | None) -> None:
        """The handler returned or raised. If the attempt was stopped, that decides; a late answer is ignored."""
        if unit.over:
            self._note_gone(unit)
            return
        if unit.batched:
            self._end_batch(unit, result, error)
            return
        run = unit
        if run.cancelled and run.stop is None:
            run.stop = Stop.CANCELLED  # A thread that saw the flag.
        try:
            if run.finished_in is not None:
                self._outcomes.settle(run, run.finished_in, error)
            elif run.stop is not None:
                self._outcomes.stopped(run)
            elif error is None:
                self._outcomes.succeed(run, result)
            else:
                self._outcomes.fail(run, error)
                if "on_failed" not in run.plan.declaration.hooked:
                    error.__traceback__ = None
            self._leave(run)
        except Exception as broken:
            # A defect here must not leave a slot taken for ever: the worker stops, loudly, and its jobs are recovered.
            log_error(log, logging.ERROR, broken, "could not end %s", run.describe())
            self._failed(broken)

    def _end_batch(self, call: BatchCall, result: Any, error: BaseException | None) -> None:
        assert self._batches is not None
        call.over = True
        stack = None if error is None else error.__traceback__
        for run, (one, why) in zip(call.runs, outcomes_of(call, result, error), strict=True):
            if why is not None and why is error:
                why.__traceback__ = stack  # One error for all of them, and each is told its stack.
            self._end(run, one, why)
        if not call.isolated:
            self._batches.ended()

    def _note_gone(self, unit: Unit) -> None:
        """Code that was given up has come to its end after all."""
        for run in unit.runs:
            if self.lingering.pop(run.claim.token, None) is not None:
                self.freed(run.claim)
        if unit.plan.declaration.runner == "thread" and not any(run.apart for run in unit.runs):
            self._count_abandoned(-1)
        self._note_room()

    def _count_abandoned(self, change: int) -> None:
        """A thread was given up, or one that was has ended."""
        self._extra += self._abandoned.count(change, self.line)
        if change > 0 and self.jam is not None:
            log.error("%s", self.jam)
            self.give_back(FULL)
            self._jammed(self.jam)

    @property
    def jam(self) -> str | None:
        """Why it takes no more jobs, if threads that were given up have all the slots."""
        return self._abandoned.trouble(self.line)

    def _note_room(self) -> None:
        """Slots may have become free otherwise than by the end of an attempt of this line."""
        self._fill()
        self.room.set()

    def _leave(self, run: Run) -> None:
        run.over = True
        self.ended += 1
        del self.active[run.claim.token]
        self.freed(run.claim)
        if run.isolated:
            self._leave_isolation()
        elif run.apart:
            self._isolation.look()
        if self.buffer:
            self._fill()
        if len(self.buffer) <= self.low_water:
            self.room.set()
            self._note_idle()

    # Stopping

    def begin_no_more(self) -> None:
        """What is held and has not begun will be released, and so will what a claim still brings."""
        self._quota = Quota(0, lambda: None)
        self._suspects.close()

    def _time_out(self, run: Run) -> None:
        if run.over:
            return
        going_on = next((one for one in (run.call_of or run).runs if one.stop is None), None)
        if going_on is not None:
            self.stop(going_on, Stop.TIMEOUT)
        elif self._interrupt_of(run) is not None:
            why = "its process does not die" if run.apart else "it swallows CancelledError"
            log.error("%s does not stop when it is told to (%s); it was given up", run.describe(), why)
            self._give_up(run)

    def _interrupt_of(self, run: Run) -> Callable[[], Any] | None:
        return (run.call_of or run).interrupt

    def stop(self, run: Run, why: Stop) -> None:
        """Tell an attempt to stop: async handlers are cancelled, processes killed; threads see a flag and, timed out,
        are given up. What only waits here ends at once. A call of several goes on when only one of them is cancelled.
        """
        if run.stop is not None or run.over:
            return
        run.stop, run.cancelled = why, True
        if run.waiting:
            self._end(run, None, None)
        elif run.call_of is not None and any(other.stop is None for other in run.call_of.runs) and why in _ALONE:
            return
        elif (interrupt := self._interrupt_of(run)) is not None:
            for other in (run.call_of or run).runs:
                other.stop, other.cancelled = other.stop or why, True
                other.deadline = self._loop.time() + STOP_SECONDS
            interrupt()
            self._deadlines.watch(self._loop.time() + STOP_SECONDS)
        elif run.plan.declaration.runner == "async":
            self._give_up(run)  # Its first step has not come yet, and now it never will.
        elif why is Stop.CANCELLED:
            run.stop = None  # A thread goes on until it looks at the flag; the store ignores its result.
        else:
            if why is Stop.TIMEOUT:
                log.error("%s timed out; its thread cannot be stopped and was given up", run.describe())
            self._give_up(run)

    def _give_up(self, run: Run) -> None:
        """Decide the outcome without waiting for the handler any longer."""
        call = run.call_of
        in_thread = not run.apart and run.plan.declaration.runner == "thread"
        if in_thread:
            self._threads.give_up()
            self._count_abandoned(1)
        self._processes.give_up(call or run)
        still_runs = in_thread or (not run.apart and self._interrupt_of(run) is not None)
        for one in (run,) if call is None else call.runs:
            if not one.over:
                one.stop = one.stop or run.stop
                if still_runs:
                    self.lingering[one.claim.token] = one.claim
                if one.finished_in is not None:
                    self._outcomes.settle(one, one.finished_in, None)
                else:
                    self._outcomes.stopped(one)
                self._leave(one)
        if call is not None and self._batches is not None and not call.over:
            call.over = True
            if not call.isolated:
                self._batches.ended()

    def stop_all(self, why: Stop) -> None:
        for run in list(self.active.values()):
            self.stop(run, why)

    def lose_all(self) -> None:
        """The store gave everything to others: begin nothing of it, stop what runs."""
        self.buffer.clear()
        self._suspects.clear()
        self.stop_all(Stop.LOST)
        self._note_idle()

    def give_up_all(self) -> None:
        """Decide the outcome of what was told to stop and has not; its code may still run for a while."""
        for run in list(self.active.values()):
            if not run.over:
                log.error("%s did not stop in time and was given up", run.describe())
                run.stop = run.stop or Stop.RELEASED
                self._give_up(run)

    def release_buffer(self) -> None:
        """Give back what was claimed and never begun, and let no batch wait any longer."""
        self.buffer.extend(self._suspects.clear())
        self.give_back("the worker stopped")
        self.hurry()
        self._note_idle()

    def give_back(self, why: str, keep: int = 0) -> None:
        """Release what was claimed ahead, but for so many of those that are next."""
        while len(self.buffer) > keep:
            self._let_go(self.buffer.pop(), why)

    def hurry(self) -> None:
        """There is nothing to wait for: let batches begin with what they have."""
        if self._batches is not None:
            self._batches.hurry()

    def close(self) -> None:
        self._doubt.close()
        self._suspects.close()
        self._deadlines.close()
        self._threads.close()
        if self._batches is not None:
            self._batches.close()
