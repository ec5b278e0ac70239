"""New job ids: UUIDs of version 7, made by the client before anything is sent, growing with time."""

from __future__ import annotations

import os
import threading

from penstock.domain.clock import Clock

COUNTED = 1 << 12
"""How many there are in a millisecond; more are taken from the next ones."""

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class IdSource:
    """Makes ids that are unique everywhere and strictly growing within this source.

    The first half is the millisecond and a counter within it, as one number that never repeats in one source;
    the second half is drawn at random once per source (and again after a fork), which keeps sources apart.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._next = 0
        self._forks = -1
        self._source = ""

    def next_id(self) -> str:
        return self.next_ids(1)[0]

    def next_ids(self, count: int) -> list[str]:
        """Several ids in order: one look at the clock for all."""
        with self._lock:
            if self._forks != _forks:
                self._forks, self._source = _forks, _new_source()
            first = max(self._next, self._clock.now_us() // 1000 * COUNTED)
            self._next = first + count
            source = self._source
        if count == 1:
            return [f"{first >> 28:08x}-{first >> 12 & 0xFFFF:04x}-7{first & 0xFFF:03x}{source}"]
        ids: list[str] = []
        while len(ids) < count:  # What the numbers of a millisecond share is written out once.
            millisecond, start = divmod(first + len(ids), COUNTED)
            head = f"{millisecond >> 16:08x}-{millisecond & 0xFFFF:04x}-7"
            ids += [f"{head}{number:03x}{source}" for number in range(start, min(start + count - len(ids), COUNTED))]
        return ids


def _new_source() -> str:
    bits = int.from_bytes(os.urandom(8), "big") & 0x3FFFFFFFFFFFFFFF | 0x8000000000000000
    half = f"{bits:016x}"
    return f"-{half[:4]}-{half[4:]}"
