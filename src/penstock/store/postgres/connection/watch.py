"""A watch on statements in plain code: a server that does not answer in time is hung up on.

In async code the event loop does the same. Timeouts of the server cannot help when it is the server that is silent.
It keeps no connection: one that an interrupt made its owner forget is closed, though nobody has said that it is done.
"""

from __future__ import annotations

import os
import threading
import time
from _thread import start_new_thread
from weakref import ref

from penstock.store.postgres.connection.link import Link

LOOK_SECONDS = 0.25
GRACE = 1.25
"""The server gives up first, by its own statement timeout, and says so."""


class Watch:
    """One thread for all plain statements of a process, from the first on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._until: dict[ref[Link], float] = {}
        self._running = False

    def begin(self, link: Link, seconds: float) -> None:
        self._until[link.weak] = time.monotonic() + seconds * GRACE
        if not self._running:
            with self._lock:
                if not self._running:
                    start_new_thread(self._run, ())
                    self._running = True

    def end(self, link: Link) -> None:
        self._until.pop(link.weak, None)

    def _run(self) -> None:
        threading.current_thread().name = "penstock-watch"
        while True:
            time.sleep(LOOK_SECONDS)
            now = time.monotonic()
            for weak, until in list(self._until.items()):
                if until < now:
                    self._until.pop(weak, None)
                    _hang_up(weak)


def _hang_up(weak: ref[Link]) -> None:
    link = weak()
    if link is not None:
        link.abort()


WATCH = Watch()


def _start_again() -> None:
    """The thread is not there in the child of a fork."""
    WATCH.__dict__.update(Watch().__dict__)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_again)
