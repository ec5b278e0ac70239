"""Many jobs staggered over a period, once in each: when each of them is due, and by what it is known (S3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from penstock.domain.clock import MICROSECONDS, from_us, to_us
from penstock.domain.duration import Duration, parse_duration
from penstock.domain.errors import ConfigError
from penstock.domain.options import check_name
from penstock.domain.texts import brief

Mode = Literal["once", "each"]
MODES = ("once", "each")
BATCHES_MAX = 10_000
JOBS_MAX = 1_000_000
"""They are stored in one transaction."""
KEPT_US_MAX = 366 * 86400 * MICROSECONDS
KEPT_PERIODS_MAX = 10_000
"""A period is remembered after its end for a year, or for so many periods if that is less: seconds make many keys."""
SLACK_SECONDS = 3600.0
"""For one who was let through at the last moment, and needs a while to store it all."""


@dataclass(frozen=True, slots=True)
class Spread:
    """`once`: each call once in the period, in so many batches or else each at its own moment. `each`: all of them in
    every batch.
    """

    name: str
    period_us: int
    batches: int | None
    mode: Mode

    def refuse_too_many(self, calls: int) -> None:
        jobs = calls * (self.batches or 1) if self.mode == "each" else calls
        if jobs > JOBS_MAX:
            fix = "fewer batches, or a shorter period" if self.mode == "each" else "parts, each with a name of its own"
            raise ConfigError(
                f"the spread {self.name!r} would be {jobs:,} jobs: at most {JOBS_MAX:,} are stored at once; use {fix}"
            )

    def moments(self, count: int, start_us: int) -> Iterator[tuple[int, int]]:
        """Which of `count` calls is due when, in the order of time."""
        if self.mode == "each":
            batches = self.batches or 1
            for batch in range(batches):
                yield from ((number, start_us + batch * self.period_us // batches) for number in range(count))
        else:
            steps = self.batches or count
            for number in range(count):
                yield number, start_us + (number * steps // count) * self.period_us // steps

    def key(self, start_us: int) -> str:
        """The same for all spreads of this name that start in the same period, counted from 1970 in UTC."""
        return f"spread {self.name} {self.period_us}us {start_us // self.period_us}"

    def held_seconds(self, start_us: int, now_us: int) -> float:
        """How long the key is held, for those who come late. A period that ended longer ago than that is refused."""
        kept_us = max(self.period_us, min(KEPT_US_MAX, KEPT_PERIODS_MAX * self.period_us))
        known_until = (start_us // self.period_us + 1) * self.period_us + kept_us
        if known_until <= now_us:
            raise ConfigError(
                f"start={from_us(start_us).isoformat()} is too long ago: whether {self.name!r} was spread in that "
                f"period is not known any more; give a start after {from_us(now_us - kept_us).isoformat()}"
            )
        return (known_until - now_us) / MICROSECONDS + SLACK_SECONDS


def make_spread(name: str, period: Duration, batches: int | None, mode: Mode) -> Spread:
    """Checked. What is wrong is an error that names the fix."""
    check_name(name, "the name of a spread")
    period_us = int(parse_duration(period, "period") * MICROSECONDS)
    if period_us <= 0:
        raise ConfigError(f"period={brief(period)} is not possible: more than zero, such as '24h'")
    if batches is not None and (
        not isinstance(batches, int) or isinstance(batches, bool) or not 1 <= batches <= BATCHES_MAX
    ):
        raise ConfigError(
            f"batches={brief(batches)} is not possible: a whole number from 1 to {BATCHES_MAX}, or None to give every "
            "job its own moment"
        )
    if mode not in MODES:
        raise ConfigError(f"mode={brief(mode)} does not exist; use one of: {', '.join(MODES)}")
    if mode == "each" and batches is None:
        raise ConfigError("mode='each' puts every call into every batch: say how many, such as batches=6")
    return Spread(name, period_us, batches, mode)


def start_moment(start: datetime | None) -> int | None:
    """The moment in microseconds, if one was given."""
    if start is None:
        return None
    if not isinstance(start, datetime):
        raise ConfigError(f"start={brief(start)} is not a time: use an aware datetime, such as datetime.now(UTC)")
    return to_us(start, "start")
