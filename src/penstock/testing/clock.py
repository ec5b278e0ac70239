"""Time that stands still until a test, or a sandbox that runs jobs, moves it."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.domain.clock import MICROSECONDS, from_us, to_us
from penstock.domain.duration import Duration, parse_duration


class FakeClock:
    """A clock for tests. It begins at `start`, or at the real time, and never moves by itself."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now_us = to_us(start if start is not None else datetime.now(UTC), "start")
        self._passed_us = 0

    def __repr__(self) -> str:
        return f"<fake clock at {self.now().isoformat()}>"

    def now(self) -> datetime:
        """The moment that this clock shows, in UTC."""
        return from_us(self._now_us)

    def advance(self, duration: Duration) -> datetime:
        """Move forward: advance("5m"). Answers the new moment."""
        self._move_to(self._now_us + round(parse_duration(duration, "duration") * MICROSECONDS))
        return self.now()

    def set(self, moment: datetime) -> None:
        """Show this moment from now on; it may be in the past."""
        self._move_to(to_us(moment, "moment"))

    def _move_to(self, moment_us: int) -> None:
        self._passed_us += max(0, moment_us - self._now_us)
        self._now_us = moment_us

    # What the library asks (penstock.domain.clock.Clock)

    def now_us(self) -> int:
        return self._now_us

    def monotonic(self) -> float:
        """Seconds that this clock went forward; a step back does not count."""
        return self._passed_us / MICROSECONDS

    def leap_to(self, moment_us: int) -> None:
        """Move forward to a moment of the store; never back."""
        self._move_to(max(self._now_us, moment_us))
