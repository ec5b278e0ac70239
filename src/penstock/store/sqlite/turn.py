"""Whose turn it is to write, among the processes on one file: a kernel lock on a file beside the store.

SQLite itself makes a second writer poll; on a busy machine pollers starve each other and the holder. Here a
waiting process sleeps in the kernel and is woken when the turn is free. SQLite's own lock stays the one that
counts: this one only decides who asks for it, and a program that does not know it does no harm.
"""

from __future__ import annotations

import os
import threading

from penstock.store.sqlite.rights import open_lock

try:
    import fcntl
except ImportError:  # pragma: no cover — no such lock on this platform: SQLite's own polling is all there is
    fcntl = None  # type: ignore[assignment]


class Turn:
    """The turn of this process. Used by one thread at a time; the blocking wait is done by a thread of its own."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1
        self._held = False
        self._lock = threading.Lock()
        self._wanted = threading.Event()
        self._got = threading.Event()
        self._waiting = False
        self._unwanted = False
        self._closed = False
        self._keeper: threading.Thread | None = None

    def acquire(self, seconds: float) -> bool:
        """Take the turn, waiting at most this long."""
        if fcntl is None or self._try():
            return True
        with self._lock:
            self._got.clear()
            self._unwanted = False
            if not self._waiting:
                self._waiting = True
                self._wanted.set()
            if self._keeper is None:
                self._keeper = threading.Thread(target=self._keep, name="penstock-turn", daemon=True)
                self._keeper.start()
        if self._got.wait(seconds):
            return True
        with self._lock:
            self._unwanted = not self._held
            return self._held

    def _try(self) -> bool:
        with self._lock:
            if self._waiting:
                return False
            if self._file < 0:  # Not before: whoever may only read the store cannot open it, and need not.
                self._file = open_lock(self._path)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            self._held = True
            return True

    def _keep(self) -> None:
        """Wait in the kernel on behalf of the writer, which may lose patience; then the next one finds it waiting."""
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if not self._waiting:
                return  # Closed.
            fcntl.flock(self._file, fcntl.LOCK_EX)
            with self._lock:
                self._waiting = False
                if self._closed:
                    self._let_go()
                    return
                self._held = not self._unwanted
                if self._unwanted:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
                else:
                    self._got.set()

    def release(self) -> None:
        with self._lock:
            if self._held and fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_UN)
            self._held = False

    def close(self) -> None:
        """End for good. While the keeper is in the kernel with the file, closing it is left to the keeper."""
        with self._lock:
            self._closed = True
            if not self._waiting:
                self._let_go()
        self._wanted.set()

    def abandon(self) -> None:
        """In a forked child: let go of the file, so that a child that outlives its parent does not keep the turn."""
        self._let_go()

    def _let_go(self) -> None:
        """Close the file once; its number may be another file's afterwards."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
