"""Time as a value that is handed in, and how moments are stored and shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Protocol

from penstock.domain.errors import ConfigError

MICROSECONDS = 1_000_000
YEAR_MAX = 9000


class Clock(Protocol):
    """Where time comes from: wall time for what is stored, monotonic time for durations."""

    def now_us(self) -> int:
        """Microseconds since the epoch, UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never step back."""
        ...


def to_us(moment: datetime, name: str = "at") -> int:
    """Microseconds of an aware datetime. A naive one is refused: nobody can know which zone was meant."""
    if moment.tzinfo is None or moment.utcoffset() is None:
        raise ConfigError(
            f"{name}={moment.isoformat()} has no time zone: use an aware datetime, such as datetime.now(UTC)"
        )
    if moment.year > YEAR_MAX:
        raise ConfigError(f"{name}={moment.isoformat()} is too far away: the last year allowed is {YEAR_MAX}")
    delta = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86400 + delta.seconds) * MICROSECONDS + delta.microseconds


def from_us(moment_us: int) -> datetime:
    """The aware UTC datetime of a stored moment."""
    seconds, rest = divmod(moment_us, MICROSECONDS)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest)
