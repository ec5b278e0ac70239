"""The clock of this machine: the only place where the library asks it for the time of day that is stored."""

from __future__ import annotations

import time


class SystemClock:
    """The clock of this machine."""

    def now_us(self) -> int:
        return time.time_ns() // 1000

    def monotonic(self) -> float:
        return time.monotonic()
