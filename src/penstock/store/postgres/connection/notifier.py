"""When to notify: the first at once, then at most one in a while, the last always.

Commits that notify go one at a time through a lock of the server's, so a flood of them must not notify each.
"""

from __future__ import annotations

import threading
import time
from _thread import start_new_thread
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue

WINDOW_SECONDS = 0.02
QUIET_SECONDS = 1.0


class Notifier:
    """`now()` says whether this enqueue should notify with its own commit; if not, a later one does, or `send`."""

    def __init__(self, send: Callable[[], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._closing: SimpleQueue[None] = SimpleQueue()
        self._last = 0.0
        self._owed = False
        self._running = False
        self._closed = False

    def now(self) -> bool:
        with self._lock:
            moment = time.monotonic()
            if moment - self._last >= WINDOW_SECONDS:
                self._last, self._owed = moment, False
                return True
            self._owed = True
            if not self._running:
                start_new_thread(self._run, ())
                self._running = True
            return False

    def _run(self) -> None:
        """Sends what is owed once no enqueue has done so for a while; ends when nothing was owed for long."""
        threading.current_thread().name = "penstock-notify"
        while self._due():
            self._send()

    def _due(self) -> bool:
        quiet_at = time.monotonic() + QUIET_SECONDS
        while True:
            with self._lock:
                moment = time.monotonic()
                if self._owed and moment - self._last >= 2 * WINDOW_SECONDS:
                    self._last, self._owed = moment, False
                    return True
                if self._closed or (not self._owed and moment > quiet_at):
                    self._running = False
                    return False
            with suppress(Empty):
                self._closing.get(timeout=WINDOW_SECONDS)

    def close(self) -> None:
        """What was put off is sent now."""
        with self._lock:
            owed, self._owed, self._closed = self._owed, False, True
        self._closing.put(None)
        if owed:
            self._send()
