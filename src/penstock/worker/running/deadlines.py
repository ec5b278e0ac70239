"""One timer for all deadlines. It is armed for the earliest; when it fires, the active runs are looked through."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from penstock.worker.running.run import Run


class Deadlines:
    """Calls `expired` for each active run whose deadline has passed. Costs one comparison per started job."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, active: Callable[[], Iterable[Run]], expired: Callable[[Run], None]
    ) -> None:
        self._loop = loop
        self._active = active
        self._expired = expired
        self._timer: asyncio.TimerHandle | None = None
        self.armed_for = float("inf")

    def watch(self, deadline: float) -> None:
        """See to it that the runs are looked at no later than `deadline` (loop time)."""
        if deadline < self.armed_for:
            if self._timer is not None:
                self._timer.cancel()
            self.armed_for = deadline
            self._timer = self._loop.call_at(deadline, self._look)

    def _look(self) -> None:
        self._timer, self.armed_for = None, float("inf")
        now = self._loop.time()
        following = float("inf")
        for run in list(self._active()):
            if run.deadline is None:
                continue
            if run.deadline <= now:
                self._expired(run)
            else:
                following = min(following, run.deadline)
        if following != float("inf"):
            self.watch(following)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
