"""A clock that stands still until a test moves it."""

from __future__ import annotations

from penstock.domain.clock import MICROSECONDS

START_US = 1_900_000_000 * MICROSECONDS


class FakeClock:
    """Wall and monotonic time of a test. Satisfies penstock.domain.clock.Clock."""

    def __init__(self, now_us: int = START_US) -> None:
        self._now_us = now_us

    def now_us(self) -> int:
        return self._now_us

    def monotonic(self) -> float:
        return self._now_us / MICROSECONDS

    def advance(self, seconds: float) -> None:
        self._now_us += int(seconds * MICROSECONDS)
