"""What the log says of something that fails again and again: a line when it begins, then ever more rarely, and a line
when it is over, with how long it took.

Several parts of a worker meet the same one, above all a store that does not answer. It is told once for all of them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from penstock.domain.duration import format_duration
from penstock.observe.logs import fields
from penstock.observe.redaction import told

AGAIN_SECONDS_MIN, AGAIN_SECONDS_MAX = 10.0, 600.0


class Trouble:
    """One trouble, as the parts that meet it tell of it. `still` and `over` are how the log calls it."""

    def __init__(self, log: logging.Logger, still: str = "the store does not answer, or not to all",
                 over: str = "the store is well again", now: Callable[[], float] = time.monotonic) -> None:  # fmt: skip
        self._log = log
        self._still = still
        self._over = over
        self._now = now
        self._lock = threading.Lock()
        self._failing: dict[Part, str] = {}
        self._notes: list[str] = []
        self._told = False
        self._since = self._next = 0.0
        self._pause = AGAIN_SECONDS_MIN

    def part(self, *, passing: bool = False) -> Part:
        """Who may meet it. A `passing` one tries only now and then: that it has not tried again says nothing."""
        return Part(self, passing)

    def failed(self, part: Part, what: str, error: BaseException) -> None:
        with self._lock:
            now, first = self._now(), not self._told
            self._failing[part] = what
            self._told = True
            if first:
                self._since, self._pause = now, AGAIN_SECONDS_MIN
            elif now < self._next:
                self._log.debug("%s: %s", what, told(error))
                return
            else:
                self._pause = min(self._pause * 2, AGAIN_SECONDS_MAX)
            self._next = now + self._pause
            whats = "; ".join(dict.fromkeys(self._failing.values()))
        if first:
            why = told(error)
            self._log.error("%s: %s; trying again", what, why, extra=fields("trouble.began", reason=why))
        else:
            seconds = round(now - self._since)
            self._log.error("%s, for %s: %s", self._still, format_duration(seconds), whats,
                            extra=fields("trouble.continues", seconds=seconds, reason=whats))  # fmt: skip

    def worked(self, part: Part, note: str) -> None:
        with self._lock:
            self._failing.pop(part, None)
            self._notes += [note] if note else []
            waiting = self._failing if part.passing else [other for other in self._failing if not other.passing]
            if waiting or not self._told:
                return
            self._told = False
            self._failing.clear()
            notes, self._notes = "; ".join(self._notes), []
            seconds = round(self._now() - self._since, 1)
        self._log.warning("%s, after %s%s", self._over, format_duration(seconds), f": {notes}" if notes else "",
                          extra=fields("trouble.over", seconds=seconds))  # fmt: skip


class Part:
    """One that meets a trouble, and says so each time."""

    __slots__ = ("_failing", "_trouble", "passing")

    def __init__(self, trouble: Trouble, passing: bool) -> None:
        self._trouble = trouble
        self.passing = passing
        self._failing = False

    def failed(self, what: str, error: BaseException) -> None:
        self._failing = True
        self._trouble.failed(self, what, error)

    def worked(self, note: str = "") -> None:
        """It worked, as it nearly always does."""
        if self._failing:
            self._failing = False
            self._trouble.worked(self, note)
