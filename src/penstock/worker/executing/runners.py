"""How an attempt that has begun comes to the call of its handler: gathered in a batch or after its start hook; on the
event loop, in a thread or in a process.
"""

from __future__ import annotations

import asyncio

from penstock.worker.executing.shared import Shared
from penstock.worker.executing.taken import Slots
from penstock.worker.running.batches import Batches
from penstock.worker.running.coroutines import Coroutines
from penstock.worker.running.deadlines import Deadlines
from penstock.worker.running.run import BatchCall, Ended, Run, Unit, in_thread
from penstock.worker.running.threads import Threads
from penstock.worker.slots import SlotGroup


class Runners:
    """Of one slot group. `end` is told how each call has ended."""

    def __init__(self, shared: Shared, slots: Slots, deadlines: Deadlines, end: Ended) -> None:
        self._loop = asyncio.get_running_loop()
        self._shared = shared
        self._outcomes = shared.outcomes
        self._slots = slots
        self._deadlines = deadlines
        self._end = end
        group = slots.group
        self._coroutines = Coroutines(self._loop, end)
        self._threads = Threads(self._loop, group.slots, end)
        self._batches = Batches(self._loop, group.batching, group.calls, self._launch) if group.batching else None

    def start(self, run: Run) -> None:
        if self._batches is not None:
            if run.isolated:
                self._launch(BatchCall([run], isolated=True))
            else:
                self._batches.add(run)
        elif "on_start" in run.plan.declaration.hooked:
            self._shared.hooks.before(run, self._launch)
        else:
            self._launch(run)

    def _launch(self, unit: Unit) -> None:
        """Give the call to its runner. A process may have to be waited for; it says when it begins."""
        if unit.plan.declaration.runner != "process" and not unit.isolated:
            self._launch_here(unit)
            return
        for run in unit.runs:
            run.waiting = run.apart = True
        pool = self._shared.isolation.pool
        pool.start(unit, self._began, self._end, self._launch_among_others if unit.isolated else None)

    def _launch_among_others(self, unit: Unit, why: str) -> None:
        """No child can run it."""
        if (run := unit.runs[0]).over:
            return
        self._shared.isolation.tell_impossible(run.claim, why)
        run.apart = run.isolated = False
        self._slots.leave_isolation()
        if self._batches is not None:
            self._batches.add(run)
        else:
            self._launch_here(unit)

    def _launch_here(self, unit: Unit) -> None:
        self._began(unit)
        (self._coroutines if unit.plan.declaration.runner == "async" else self._threads).start(unit)

    def _began(self, unit: Unit) -> None:
        """The handler is about to be called: from now on its time runs."""
        if unit.batched:
            limits = [limit for run in unit.runs if (limit := self._outcomes.limit(run.policy)) is not None]
            for run in unit.runs:
                run.call_of = unit
                self._begin_time(run, min(limits, default=None))
        else:
            self._begin_time(unit, self._outcomes.limit(unit.policy))

    def _begin_time(self, run: Run, limit: float | None) -> None:
        if run.waiting:
            run.waiting = False
            run.started = self._loop.time()
            run.started_us = self._shared.clock.us(run.started)
        run.limit = limit
        if limit is not None:
            deadline = run.deadline = run.started + limit
            if deadline < self._deadlines.armed_for:
                self._deadlines.watch(deadline)
        if run.plan.chatty:
            self._outcomes.started(run)

    def give_up(self, unit: Unit) -> None:
        """Another thread or process takes the place of the one that is stuck in it."""
        if in_thread(unit):
            self._threads.give_up()
        self._shared.isolation.pool.give_up(unit)

    def ended(self, call: BatchCall) -> None:
        """A call is over: the next one may begin."""
        call.over = True
        if self._batches is not None and not call.isolated:
            self._batches.ended()

    def resize(self, before: SlotGroup, group: SlotGroup) -> None:
        self._threads.resize(group.slots - before.slots)
        if self._batches is not None:
            self._batches.resize(group.calls - before.calls)

    def hurry(self) -> None:
        """There is nothing to wait for: let batches begin with what they have."""
        if self._batches is not None:
            self._batches.hurry()

    def close(self) -> None:
        self._threads.close()
        if self._batches is not None:
            self._batches.close()
