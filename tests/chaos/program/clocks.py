"""A clock that is wrong by what a file says, so that a whole group of processes can be set at once."""

from __future__ import annotations

import time
from pathlib import Path

from penstock.domain.clock import MICROSECONDS

LOOK_SECONDS = 0.01


class WrongClock:
    """Wall time is off by the seconds in the file. Monotonic time is right: no clock change touches it."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._off_us = 0
        self._looked = 0.0

    def now_us(self) -> int:
        if time.monotonic() - self._looked > LOOK_SECONDS:
            self._off_us = int(float(self._path.read_text()) * MICROSECONDS)
            self._looked = time.monotonic()
        return time.time_ns() // 1000 + self._off_us

    def monotonic(self) -> float:
        return time.monotonic()


def set_wrong(path: Path, seconds: float) -> None:
    """Put the clocks that read this file forward (or back, below zero). A reader never sees half of it."""
    new = path.with_suffix(".new")
    new.write_text(str(seconds))
    new.replace(path)
