"""Whose turn it is to write, among the processes on one file: a kernel lock on a file beside the store.

SQLite itself makes a second writer poll; on a busy machine pollers starve each other and the holder. Here a
waiting process sleeps in the kernel and is woken when the turn is free. SQLite's own lock stays the one that
counts: this one only decides who asks for it, and a program that does not know it does no harm.
"""

from __future__ import annotations

import os
import threading
from _thread import start_new_thread
from queue import SimpleQueue

from penstock.store.interrupts import take
from penstock.store.sqlite.connection.rights import open_lock

try:
    import fcntl
except ImportError:  # pragma: no cover — no such lock on this platform: SQLite's own polling is all there is
    fcntl = None  # type: ignore[assignment]


class Turn:
    """The turn of this process. Used by one thread at a time; the blocking wait is done by a thread of its own.

    Whoever asks for it releases it in the end, also if it was interrupted while it asked.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = -1
        self._held = False
        self._lock = threading.Lock()
        self._wanted: SimpleQueue[None] = SimpleQueue()
        self._got = threading.Lock()
        self._waiting = False
        self._unwanted = False
        self._closed = False
        self._keeper: list[int] = []

    def acquire(self, seconds: float) -> bool:
        """Take the turn, waiting at most this long."""
        if fcntl is None or self._try():
            return True
        with self._lock:
            got = self._got = threading.Lock()
            got.acquire()
            self._unwanted = False
            if not self._keeper:
                take(self._keeper, start_new_thread, self._keep, ())
            self._waiting = True
            self._wanted.put(None)
        if got.acquire(timeout=seconds):
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
            self._held = True  # Said before it is so: to let go of what is not held does no harm.
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._held = False
            return self._held

    def _keep(self) -> None:
        """Wait in the kernel on behalf of the writer, which may lose patience; then the next one finds it waiting."""
        threading.current_thread().name = "penstock-turn"
        while True:
            self._wanted.get()
            if not self._waiting:
                if self._closed:
                    return
                continue  # Asked for twice.
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
                    self._got.release()

    def release(self) -> None:
        with self._lock:
            if self._waiting:
                self._unwanted = True
                self._wanted.put(None)  # Whoever waited may have been interrupted before it said so.
            elif self._held and fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_UN)
            self._held = False

    def close(self) -> None:
        """End for good. While the keeper is in the kernel with the file, closing it is left to the keeper."""
        with self._lock:
            self._closed = True
            if not self._waiting:
                self._let_go()
        self._wanted.put(None)

    def abandon(self) -> None:
        """In a forked child: let go of the file, so that a child that outlives its parent does not keep the turn."""
        self._let_go()

    def _let_go(self) -> None:
        """Close the file once; its number may be another file's afterwards."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
