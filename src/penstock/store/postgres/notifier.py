"""When to notify: the first at once, then at most one in a while, the last always.

Commits that notify go one at a time through a lock of the server's, so a flood of them must not notify each.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

WINDOW_SECONDS = 0.02


class Notifier:
    """`now()` says whether this enqueue should notify with its own commit; if not, `send` is called a little later."""

    def __init__(self, send: Callable[[], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._last = 0.0
        self._timer: threading.Timer | None = None

    def now(self) -> bool:
        with self._lock:
            moment = time.monotonic()
            if moment - self._last >= WINDOW_SECONDS:
                self._last = moment
                return True
            if self._timer is None:
                self._timer = threading.Timer(WINDOW_SECONDS - (moment - self._last), self._fire)
                self._timer.daemon = True
                self._timer.start()
            return False

    def _fire(self) -> None:
        with self._lock:
            self._timer = None
            self._last = time.monotonic()
        self._send()

    def close(self) -> None:
        """What was put off is sent now."""
        with self._lock:
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            self._send()
