"""How soon a process that died is replaced, and when there is no point in it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

STEADY_SECONDS = 30.0
"""A process that lived this long had no trouble with starting."""
DELAY_SECONDS_MAX = 30.0
START_TRIES = 3


@dataclass
class Pace:
    """The recent deaths in one place. `random` gives numbers from 0 to 1."""

    random: Callable[[], float]
    deaths: int = 0
    code: int = 0
    repeats: int = 0
    """How often in a row it died young with this exit code."""

    def note_death(self, code: int, lived: float) -> float:
        """The delay before the next start: none at first, then growing while processes die young."""
        if lived >= STEADY_SECONDS:
            self.deaths = self.repeats = 0
        self.repeats = self.repeats + 1 if code == self.code else 1
        self.code = code
        self.deaths += 1
        if self.deaths == 1:
            return 0.0
        return min(DELAY_SECONDS_MAX, 2.0 ** min(self.deaths - 2, 10)) * (0.5 + 0.5 * self.random())

    @property
    def cannot_start(self) -> bool:
        """Whether it failed in the same way again and again. A signal is an accident, an exit code a decision."""
        return self.code > 0 and self.repeats >= START_TRIES
