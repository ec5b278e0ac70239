"""A watch on statements in plain code: a server that does not answer in time is hung up on.

In async code the event loop does the same. Timeouts of the server cannot help when it is the server that is silent.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.store.postgres.link import Link

LOOK_SECONDS = 0.25
GRACE = 1.25
"""The server gives up first, by its own statement timeout, and says so."""


class Watch:
    """One thread for all plain statements of a process; it runs only while there are any to watch."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[Link, float] = {}
        self._running = False

    @contextmanager
    def over(self, link: Link, seconds: float) -> Iterator[None]:
        with self._lock:
            self._until[link] = time.monotonic() + seconds * GRACE
            if not self._running:
                self._running = True
                threading.Thread(target=self._run, name="penstock-watch", daemon=True).start()
        try:
            yield
        finally:
            with self._lock:
                self._until.pop(link, None)

    def _run(self) -> None:
        quiet = 0
        while True:
            time.sleep(LOOK_SECONDS)
            with self._lock:
                quiet = 0 if self._until else quiet + 1
                if quiet > 20:
                    self._running = False
                    return
                now = time.monotonic()
                late = [link for link, until in self._until.items() if until < now]
                for link in late:
                    del self._until[link]
            for link in late:
                link.abort()


WATCH = Watch()
