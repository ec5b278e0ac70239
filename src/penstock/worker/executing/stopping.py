"""How attempts are told to stop before their handlers are done, and given up if they do not."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from penstock.worker.executing.runners import Runners
from penstock.worker.executing.taken import Slots
from penstock.worker.running.deadlines import Deadlines
from penstock.worker.running.run import Ended, Run, StopReason, Unit, in_thread

STOP_SECONDS = 5.0
_ALONE = (StopReason.CANCELLED, StopReason.LOST)  # What concerns one job of a call and not the others.

log = logging.getLogger("penstock.worker")


class Stopping:
    """Of one slot group. `end` decides an outcome; `jammed` is told when threads that were given up have all slots."""

    def __init__(
        self, slots: Slots, runners: Runners, deadlines: Deadlines, end: Ended, jammed: Callable[[str], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._slots = slots
        self._runners = runners
        self._deadlines = deadlines
        self._end = end
        self._jammed = jammed

    def stop(self, run: Run, why: StopReason) -> None:
        """Tell an attempt to stop: async handlers are cancelled, processes killed; threads see a flag and, timed out,
        are given up. What only waits here ends at once. A call of several goes on when only one of them is cancelled.
        """
        if run.stop is not None or run.over:
            return
        run.stop, run.cancelled = why, True
        if run.waiting:
            self._end(run, None, None)
        elif why in _ALONE and any(other.stop is None for other in run.unit.runs):
            return
        elif (interrupt := run.unit.interrupt) is not None:
            self._interrupt(run.unit, interrupt, why)
        else:
            self._stop_uninterrupted(run, why)

    def _interrupt(self, unit: Unit, interrupt: Callable[[], Any], why: StopReason) -> None:
        until = self._loop.time() + STOP_SECONDS
        for run in unit.runs:
            run.stop, run.cancelled, run.deadline = run.stop or why, True, until
        interrupt()
        self._deadlines.watch(until)

    def _stop_uninterrupted(self, run: Run, why: StopReason) -> None:
        if run.plan.declaration.runner == "async":
            self._give_up(run)  # Its first step has not come yet, and now it never will.
        elif why is StopReason.CANCELLED:
            run.stop = None  # A thread goes on until it looks at the flag; the store ignores its result.
        else:
            if why is StopReason.TIMEOUT:
                log.error("%s timed out; its thread cannot be stopped and was given up", run.describe())
            self._give_up(run)

    def stop_all(self, why: StopReason) -> None:
        for run in list(self._slots.active.values()):
            self.stop(run, why)

    def time_out(self, run: Run) -> None:
        """Its deadline has passed: that of the handler, or that of stopping it."""
        if run.over:
            return
        going_on = next((one for one in run.unit.runs if one.stop is None), None)
        if going_on is not None:
            self.stop(going_on, StopReason.TIMEOUT)
        elif run.unit.interrupt is not None:
            why = "its process does not die" if run.apart else "it swallows CancelledError"
            log.error("%s does not stop when it is told to (%s); it was given up", run.describe(), why)
            self._give_up(run)

    def give_up_all(self) -> None:
        """Decide the outcome of what was told to stop and has not; its code may still run for a while."""
        for run in list(self._slots.active.values()):
            if not run.over:
                log.error("%s did not stop in time and was given up", run.describe())
                run.stop = run.stop or StopReason.RELEASED
                self._give_up(run)

    def _give_up(self, run: Run) -> None:
        """Decide the outcome without waiting for the handler any longer."""
        unit = run.unit
        self._runners.give_up(unit)
        if threaded := in_thread(unit):
            self._slots.count_stuck(1)
            if (jam := self._slots.jam) is not None:
                self._jammed(jam)
        still_runs = threaded or (not run.apart and unit.interrupt is not None)
        for one in unit.runs:
            if not one.over:
                one.stop = one.stop or run.stop
                if still_runs:
                    self._slots.given_up[one.claim.token] = one.claim
                self._end(one, None, None)
        if unit.batched and not unit.over:
            self._runners.ended(unit)
