"""The clocks of a simulation: the store's, which is true and decides, and each process's own, which may be wrong."""

from __future__ import annotations

from penstock.domain.clock import MICROSECONDS
from tests.simulation.loop import Time, VirtualLoop

START_US = 1_900_000_000 * MICROSECONDS


class TrueClock:
    """Virtual time as wall time. Satisfies penstock.domain.clock.Clock."""

    def __init__(self, time: Time) -> None:
        self._time = time
        self._stamped = 0

    def now_us(self) -> int:
        return START_US + int(self._time.now * MICROSECONDS)

    def monotonic(self) -> float:
        return self._time.now

    def stamp(self) -> int:
        """A moment for the history: strictly growing over all processes, so that their order is never in doubt."""
        self._stamped = max(self._stamped + 1, self.now_us())
        return self._stamped


class WrongClock:
    """The clocks of one process: the wall clock is off and may be set while it runs; the other is that of its loop."""

    def __init__(self, true: TrueClock, loop: VirtualLoop, off_seconds: float) -> None:
        self._true = true
        self._loop = loop
        self._off_us = int(off_seconds * MICROSECONDS)

    def now_us(self) -> int:
        return self._true.now_us() + self._off_us

    def monotonic(self) -> float:
        return self._loop.time()

    def step(self, seconds: float) -> None:
        """Set it forward or back."""
        self._off_us += int(seconds * MICROSECONDS)
