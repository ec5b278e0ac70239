"""How one waits for the end of a job or a workflow: often enough to know soon, and without load."""

from __future__ import annotations

import time

from penstock.domain import errors
from penstock.domain.current_call import current_call
from penstock.domain.duration import Duration, parse_duration
from penstock.store.contract import Store

POLL_SECONDS_MIN, POLL_SECONDS_MAX = 0.001, 0.05
LOOK_SECONDS_MAX = 0.2
LOOK_AGAIN_SECONDS = 0.5

_WAITS_IN_HANDLER = (
    "{} has not ended, and a handler cannot wait for it: it would keep its slot meanwhile, and when all slots do, "
    "nothing is left to run what they wait for. Let what comes afterwards be a job of its own: a follow-up, by "
    "ctx.enqueue(…) or by then(…) on the type, or a step of a workflow"
)


class WaitForEnd:
    """Patience without load: looks at the store's change counter, and at the job when that moved, or now and then.

    Where there is no counter, the pauses between two looks grow.
    """

    def __init__(self, store: Store, timeout: Duration | None) -> None:
        self._store = store
        self._timeout = None if timeout is None else parse_duration(timeout, "timeout")
        self._end = None if self._timeout is None else time.monotonic() + self._timeout
        self._seen: int | None = None
        self._looked = 0.0
        self._pause = POLL_SECONDS_MIN

    def changed(self) -> bool:
        before, self._seen = self._seen, self._store.version()
        if self._seen is None:
            return True
        if before != self._seen:
            self._pause = POLL_SECONDS_MIN
        elif not self._is_time_to_look():
            return False
        self._looked = time.monotonic()
        return True

    def _is_time_to_look(self) -> bool:
        """Also without a change: the time-to-live of a job ends by itself. And once more before giving up."""
        now = time.monotonic()
        return now - self._looked >= LOOK_AGAIN_SECONDS or (self._end is not None and now >= self._end)

    def pause(self, what: str) -> float:
        if self._end is not None and time.monotonic() >= self._end:
            raise errors.ResultTimeout(f"{what} did not end within {self._timeout:g} s; it goes on by itself")
        if current_call() is not None:
            raise errors.UsageError(_WAITS_IN_HANDLER.format(what))
        self._pause = min(self._pause * 1.5, POLL_SECONDS_MAX if self._seen is not None else LOOK_SECONDS_MAX)
        return self._pause if self._end is None else max(0.0, min(self._pause, self._end - time.monotonic()))
