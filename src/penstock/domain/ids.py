"""Job ids: UUID version 7, made by the client before anything is sent, growing with time."""

from __future__ import annotations

import os
import re
import threading

from penstock.domain.clock import Clock
from penstock.domain.errors import ConfigError

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_RANDOM_BYTES = 512


class IdSource:
    """Makes ids that are unique everywhere and strictly growing within this source.

    The 12 bits behind the millisecond count up within it, so a batch keeps its order;
    62 random bits keep sources apart. After a fork the child draws fresh random bits.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._tick = 0
        self._pool = b""
        self._used = 0
        self._pid = os.getpid()

    def next_id(self) -> str:
        with self._lock:
            self._tick = max(self._tick + 1, (self._clock.now_us() // 1000) << 12)
            tick = self._tick
            random = self._random_64()
        text = f"{tick >> 12:012x}7{tick & 0xFFF:03x}{(random & 0x3FFFFFFFFFFFFFFF) | 0x8000000000000000:016x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    def _random_64(self) -> int:
        if self._used >= len(self._pool) or self._pid != os.getpid():
            self._pool, self._used, self._pid = os.urandom(_RANDOM_BYTES), 0, os.getpid()
        self._used += 8
        return int.from_bytes(self._pool[self._used - 8 : self._used], "big")


def check_id(job_id: str) -> str:
    """The id in its one spelling, or an error that says how ids look."""
    text = str(job_id).lower()
    if not _UUID.fullmatch(text):
        raise ConfigError(
            f"id={job_id!r} is not a job id: ids are UUIDs; for an id of your own make one with uuid.uuid5(namespace, name)"
        )
    return text
