"""Job ids: UUID version 7, made by the client before anything is sent, growing with time."""

from __future__ import annotations

import hashlib
import os
import re
import threading

from penstock.domain.clock import Clock
from penstock.domain.errors import ConfigError
from penstock.domain.texts import brief

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
COUNT_MAX = 0xFFF
EXAMPLE = "0198c0de-0000-7000-8000-000000000000"

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


class IdSource:
    """Makes ids that are unique everywhere and strictly growing within this source.

    The first half is the millisecond and a counter within it, which together never repeat in one source;
    the second half is drawn at random once per source (and again after a fork), which keeps sources apart.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._millisecond = 0
        self._count = 0
        self._prefix = ""
        self._forks = -1
        self._source = ""

    def next_id(self) -> str:
        return self.next_ids(1)[0]

    def next_ids(self, count: int) -> list[str]:
        """Several ids in order: one look at the clock for all."""
        with self._lock:
            if self._forks != _forks:
                self._forks, self._source = _forks, _new_source()
            self._move_to(self._clock.now_us() // 1000)
            return [self._next() for _ in range(count)]

    def _move_to(self, millisecond: int) -> None:
        if millisecond > self._millisecond:
            self._millisecond, self._count = millisecond, -1
            self._prefix = f"{millisecond >> 16:08x}-{millisecond & 0xFFFF:04x}-7"

    def _next(self) -> str:
        self._count += 1
        if self._count > COUNT_MAX:
            self._move_to(self._millisecond + 1)
            self._count = 0
        return f"{self._prefix}{self._count:03x}{self._source}"


def _new_source() -> str:
    bits = int.from_bytes(os.urandom(8), "big") & 0x3FFFFFFFFFFFFFFF | 0x8000000000000000
    half = f"{bits:016x}"
    return f"-{half[:4]}-{half[4:]}"


def id_from(moment_us: int, *parts: object) -> str:
    """An id that follows from a moment and what else is said: whoever makes it again makes the same."""
    bits = int.from_bytes(hashlib.blake2b(repr((moment_us, *parts)).encode(), digest_size=10).digest(), "big")
    millisecond, source = moment_us // 1000 & (1 << 48) - 1, f"{bits & (1 << 62) - 1 | 1 << 63:016x}"
    head = f"{millisecond >> 16:08x}-{millisecond & 0xFFFF:04x}-7{bits >> 68:03x}"
    return f"{head}-{source[:4]}-{source[4:]}"


def check_id(job_id: str, fix: str = "penstock jobs list shows them") -> str:
    """The id in its one spelling, or an error that says how ids look and where they come from."""
    text = str(job_id).lower()
    if not _UUID.fullmatch(text):
        raise ConfigError(f"id={brief(job_id)} is not a job id: one looks like {EXAMPLE}; {fix}")
    return text
