"""The slots of one kind of work: begins what fits into them, and frees them when it ends.

One executor has the slots of everything that runs on the event loop and in threads, of process handlers, or of one
batch type. What an outcome means is decided in outcomes.py.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

from penstock.domain.errors import PayloadError
from penstock.domain.options import decode_policy
from penstock.observe.redaction import log_error
from penstock.store.contract import Claim
from penstock.worker.claiming.max_jobs import MaxJobs
from penstock.worker.executing.runners import Runners
from penstock.worker.executing.shared import Shared
from penstock.worker.executing.stopping import Stopping
from penstock.worker.executing.taken import Slots
from penstock.worker.executing.unbegun import Unbegun
from penstock.worker.running.batches import outcomes_of
from penstock.worker.running.deadlines import Deadlines
from penstock.worker.running.run import BatchCall, Run, StopReason, Unit, in_thread
from penstock.worker.slots import SlotGroup

FULL = "its worker is full of threads that were given up"

log = logging.getLogger("penstock.worker")


class Executor:
    """One slot group: what runs, and how each attempt ends."""

    def __init__(self, group: SlotGroup, shared: Shared) -> None:
        self._loop = asyncio.get_running_loop()
        self._shared = shared
        self._outcomes, self._plans, self._isolation = shared.outcomes, shared.plans, shared.isolation
        self._clock, self._freed = shared.clock, shared.freed
        self._max_jobs = MaxJobs(None, lambda: None) if group.processes else shared.max_jobs
        self.slots = Slots(group, shared.isolation)
        self.active = self.slots.active
        self.ended = 0
        self.low_water = 0
        """When the buffer has sunk to this, the claimer should bring more."""
        self.room, self.idle = asyncio.Event(), asyncio.Event()
        self.idle.set()
        self.unbegun = Unbegun(shared, self.slots, self._begin_isolated, self._fill, self._note_gone)
        self.buffer, self._suspects = self.unbegun.buffer, self.unbegun.suspects
        self._in_doubt = self.unbegun.ownership.in_doubt
        self._deadlines = Deadlines(self._loop, self.active.values, lambda run: self.stopping.time_out(run))
        self.runners = Runners(shared, self.slots, self._deadlines, self._end)
        self._start = self.runners.start
        self.stopping = Stopping(self.slots, self.runners, self._deadlines, self._end, self._jammed)
        if group.processes:
            shared.isolation.join_processes(self._note_room)

    # Beginning

    def take(self, claims: list[Claim], claimed_at_us: int, asked: float) -> None:
        """Begin what fits into the slots; buffer the rest. `asked` is when the claim was sent, by the loop's clock."""
        self._clock.offset_us = claimed_at_us - int(self._loop.time() * 1e6)
        self._plans.forget()
        self._outcomes.claimed(claims, claimed_at_us)
        self.unbegun.take(claims, asked)
        self.idle.clear()
        self._fill()
        if self.buffer and self.slots.jam is not None:  # It became full while this claim was on its way.
            self.unbegun.give_back(FULL)
        self._note_idle()

    def _fill(self) -> None:
        """Begin what is next, while there are slots: for every job that ends, so with no call more than it needs."""
        buffer, slots = self.buffer, self.slots
        if not buffer or self._in_doubt(now := self._loop.time()):
            return
        while buffer and self._max_jobs.left > 0:
            group = slots.group
            others = self._isolation.running if group.processes else slots.extra
            if len(self.active) + others >= group.slots:
                return
            claim = buffer.popleft()
            if claim.crashes and self.unbegun.set_apart(claim):
                continue
            self._max_jobs.take()
            self._begin(claim, now)

    def _begin(self, claim: Claim, now: float, isolated: bool = False) -> bool:
        """Begin it, if it can begin."""
        plan = self._plans.made.get(claim.type) or self._plans.get(claim.type)
        policy = decode_policy(claim.policy)
        if plan is None:
            self.unbegun.let_go(claim, "no handler for its type")
            return False
        if claim.gates and self.unbegun.is_late(claim, now):
            self.unbegun.let_go(claim, "its turn was over before it could begin")
            return False
        run = Run(claim, plan, policy, None, now, int(now * 1e6) + self._clock.offset_us)
        try:
            run.args = plan.declaration.signature.decode(claim.payload)
        except PayloadError as error:
            self._outcomes.refuse(run, error)
            self.ended += 1
            self.room.set()
            self._freed(claim)
            return False
        run.isolated = isolated
        self.active[claim.token] = run
        self._start(run)
        return True

    def _begin_isolated(self, claim: Claim) -> None:
        self.slots.extra -= 1
        self._max_jobs.take()
        if not self._begin(claim, self._loop.time(), isolated=True):
            self.slots.leave_isolation()

    # What is here

    @property
    def room_left(self) -> int:
        """How many more jobs it makes sense to claim: before this process is replaced, or while it can begin any."""
        return self._max_jobs.left - len(self.buffer) if self.slots.jam is None else 0

    def tokens(self) -> list[int]:
        return [*self.active, *(claim.token for claim in self.unbegun)]

    def held(self) -> Iterator[Claim]:
        """What is claimed here and has not ended: begun, not begun, or given up and still running."""
        yield from (run.claim for run in self.active.values())
        yield from self.unbegun
        yield from self.slots.given_up.values()

    # Ending

    def _end(self, unit: Unit, result: Any, error: BaseException | None) -> None:
        """The handler returned or raised. If the attempt was stopped, that decides; a late answer is ignored."""
        if unit.over:
            self._end_late(unit)
            return
        if unit.batched:
            self._end_batch(unit, result, error)
            return
        run = unit
        if run.cancelled and run.stop is None:
            run.stop = StopReason.CANCELLED  # A thread that saw the flag.
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
            self._shared.failed(broken)

    def _end_batch(self, call: BatchCall, result: Any, error: BaseException | None) -> None:
        call.over = True
        stack = None if error is None else error.__traceback__
        for run, (one, why) in zip(call.runs, outcomes_of(call, result, error), strict=True):
            if why is not None and why is error:
                why.__traceback__ = stack  # One error for all of them, and each is told its stack.
            self._end(run, one, why)
        self.runners.ended(call)

    def _leave(self, run: Run) -> None:
        run.over = True
        self.ended += 1
        del self.active[run.claim.token]
        self._freed(run.claim)
        if run.isolated:
            self.slots.leave_isolation()
        elif run.apart:
            self._isolation.look()
        if self.buffer:
            self._fill()
        if len(self.buffer) <= self.low_water:
            self.room.set()
            self._note_idle()

    def _end_late(self, unit: Unit) -> None:
        """Code that was given up has come to its end after all."""
        for run in unit.runs:
            if self.slots.given_up.pop(run.claim.token, None) is not None:
                self._freed(run.claim)
        if in_thread(unit):
            self.slots.count_stuck(-1)
        self._note_room()

    def _jammed(self, jam: str) -> None:
        log.error("%s", jam)
        self.unbegun.give_back(FULL)
        self._shared.jammed(jam)

    def _note_room(self) -> None:
        """Slots may have become free otherwise than by the end of an attempt of this group."""
        self._fill()
        self.room.set()

    def _note_gone(self) -> None:
        """A job has gone that had not begun."""
        self.room.set()
        self._note_idle()

    def _note_idle(self) -> None:
        if not self.active and not self.buffer and not self._suspects:
            self.unbegun.note_idle()
            self.idle.set()

    # Of all

    def resize(self, group: SlotGroup) -> None:
        """Other slots from now on. With fewer, what runs finishes and what was claimed ahead goes back."""
        before = self.slots.group
        self.slots.resize(group)
        if group.slots < before.slots:
            self.unbegun.give_back_all("the worker was given fewer slots")
        self.runners.resize(before, group)
        self._note_room()
        self._note_idle()

    def begin_no_more(self) -> None:
        """What is held and has not begun will be released, and so will what a claim still brings."""
        self._max_jobs = MaxJobs(0, lambda: None)
        self._suspects.close()

    def lose_all(self) -> None:
        """The store gave everything to others: begin nothing of it, stop what runs."""
        self.unbegun.drop_all()
        self.stopping.stop_all(StopReason.LOST)
        self._note_idle()

    def release_buffer(self) -> None:
        """Give back what was claimed and never begun, and let no batch wait any longer."""
        self.unbegun.give_back_all("the worker stopped")
        self.runners.hurry()
        self._note_idle()

    def close(self) -> None:
        self.unbegun.close()
        self._deadlines.close()
        self.runners.close()
