"""When a schedule is due: by a cron expression in a time zone, or at equal intervals (S1).

Cron expressions have five fields, or six with the seconds first. What happens when clocks are set is one rule for both
and depends on the hour field alone:

- Hours that are written out ("30 2 * * *") are times of the day: each comes once a day. One that the clock leaps over
  comes when it has leapt; one that the clock shows twice comes the first time.
- An hour field that begins with * ("*/15 * * * *") follows the clock as it goes: what it shows twice comes twice, and
  what it leaps over does not come.

Nothing here knows what time it is. Moments are microseconds since the epoch; ticks of a cron are whole seconds.
"""

from __future__ import annotations

from copy import copy
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from penstock.domain.clock import MICROSECONDS, from_us, to_us
from penstock.domain.duration import Duration, format_duration, parse_duration
from penstock.domain.errors import ConfigError
from penstock.domain.schedule.zones import Zone, zone
from penstock.domain.texts import brief

if TYPE_CHECKING:
    from cronsim import CronSim

CRON_CHARS_MAX = 200
EVERY_SECONDS_MIN = 1.0
LOOK_AHEAD_SECONDS = 2 * 86400
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001 — local times are naive here
_FORM = "write minute hour day month weekday, or six fields with seconds first, such as '0 3 * * *' for 03:00 every day"


class Timing(msgspec.Struct, frozen=True, omit_defaults=True):
    """Made by make_timing(). `every` is in microseconds; `start` and `end` are the first and the last moment."""

    cron: str | None = None
    every: int | None = None
    timezone: str = "UTC"
    start: int | None = None
    end: int | None = None

    def __str__(self) -> str:
        if self.every is not None:
            return f"every {format_duration(self.every / MICROSECONDS)}"
        return f"{self.cron} ({self.timezone})"

    def after(self, moment: int, anchor: int = 0) -> int | None:
        """The first tick after a moment; None when there is none. Intervals are counted from `start`, or the anchor."""
        if self.start is not None:
            moment = max(moment, self.start - 1)
        found: int | None
        if self.every is not None:
            found = _interval_after(moment, self.every, anchor if self.start is None else self.start)
        else:
            assert self.cron is not None
            second = _cron_after(self.cron, zone(self.timezone), moment // MICROSECONDS)
            found = None if second is None else second * MICROSECONDS
        return None if found is None or (self.end is not None and found > self.end) else found

    def latest(self, first: int, until: int, anchor: int = 0) -> int:
        """The last tick not after `until`, given an earlier one: by halves, for there may be millions between."""
        low, high = first, until  # Low is a tick, and there is none between high and `until`.
        while low < high:
            middle = (low + high) // 2
            found = self.after(middle, anchor)
            if found is None or found > until:
                high = middle
            else:
                low = found
        return low


def _interval_after(moment: int, every: int, anchor: int) -> int:
    return anchor if moment < anchor else anchor + ((moment - anchor) // every + 1) * every


def _cron_after(cron: str, place: Zone, second: int) -> int | None:
    if cron.split()[-4].startswith("*"):
        return _as_the_clock_goes(cron, place, second)
    found = _next(cron, place.latest_shown(second))
    return None if found is None else place.first_at(found)


def _as_the_clock_goes(cron: str, place: Zone, second: int) -> int | None:
    """The clock is looked at in stretches in which it goes evenly. A change begins the next."""
    wall = place.local(second)
    while (found := _next(cron, wall)) is not None:
        tick = second + (found - place.local(second)) // timedelta(seconds=1)
        near = min(tick, second + LOOK_AHEAD_SECONDS)
        change = place.change_after(second, near)
        if change is None and tick == near:
            return tick
        if change is not None:
            second, wall = change, place.local(change) - timedelta(seconds=1)
        else:  # Nothing is due before: a change of the clock on the way matters only where it comes close.
            second = max(near, tick - LOOK_AHEAD_SECONDS)
            wall = place.local(second)
    return None


def _next(cron: str, wall: datetime) -> datetime | None:
    found = copy(_parsed(cron))
    found.dt = wall
    return next(found, None)


@lru_cache(maxsize=1000)
def _parsed(cron: str) -> CronSim:
    """Without a time zone: what happens when clocks are set is decided here."""
    from cronsim import CronSim

    return CronSim(cron, _ANY_TIME)


# Checking what people write


def make_timing(
    *,
    cron: object = None,
    every: Duration | None = None,
    timezone: object = None,
    tz: object = None,
    start: object = None,
    end: object = None,
) -> Timing:
    """A timing of what was given, or an error that names the fix. `tz` is another word for `timezone`."""
    if (cron is None) == (every is None):
        given = "cron= and every= exclude each other" if cron is not None else "when? Give cron= or every="
        raise ConfigError(f"{given}: one of them, such as cron='0 3 * * *' or every='15m'")
    timing = Timing(
        cron=None if cron is None else _checked_cron(cron),
        every=None if every is None else _checked_every(every),
        timezone=_checked_zone(timezone, tz),
        start=_moment(start, "start"),
        end=_moment(end, "end"),
    )
    _refuse_empty(timing)
    return timing


def check_timing(timing: Timing) -> None:
    """Whether a stored one can be reckoned here: another version may know more zones, or other expressions."""
    make_timing(
        cron=timing.cron,
        every=None if timing.every is None else timing.every / MICROSECONDS,
        timezone=timing.timezone,
    )


def _spelled(cron: str) -> str:
    """In one spelling: single spaces, upper case."""
    from cronsim import CronSimError

    text = " ".join(cron.upper().split())
    try:
        _parsed(text)
    except CronSimError as error:
        if _is_never(text, str(error)):
            raise ConfigError(f"cron={brief(cron)} never fires: no such month has that day") from None
        raise ConfigError(f"cron={brief(cron)} is not possible: {str(error).lower()}; {_FORM}") from None
    if _next(text, _ANY_TIME) is None:
        raise ConfigError(f"cron={brief(cron)} never fires: no day fits all of its fields; {_FORM}")
    return text


def _is_never(text: str, error: str) -> bool:
    """Whether each field by itself is right, and they only do not fit together."""
    if error != "Bad day-of-month":
        return False
    from cronsim import CronSimError

    *times, day, _, weekday = text.split()
    try:
        _parsed(" ".join([*times, day, "*", weekday]))
    except CronSimError:
        return False
    return True


def _checked_cron(cron: object) -> str:
    if not isinstance(cron, str) or len(cron) > CRON_CHARS_MAX:
        raise ConfigError(f"cron={brief(cron)} is not a text of {CRON_CHARS_MAX} characters at most; {_FORM}")
    return _spelled(cron)


def _checked_every(every: Duration) -> int:
    seconds = parse_duration(every, "every")
    if seconds < EVERY_SECONDS_MIN:
        raise ConfigError(f"every={brief(every)} is not possible: 1s or more, such as '15m'")
    return round(seconds * MICROSECONDS)


def _checked_zone(timezone: object, tz: object) -> str:
    if timezone is not None and tz is not None:
        raise ConfigError("timezone= and tz= are two words for one thing: give one of them")
    name = timezone if timezone is not None else tz if tz is not None else "UTC"
    if not isinstance(name, str):
        raise ConfigError(f"timezone={brief(name)} is not a name: write it as a text, such as 'Europe/Berlin'")
    zone(name)
    return name


def _moment(value: object, name: str) -> int | None:
    if value is None:
        return None
    if not isinstance(value, datetime):
        raise ConfigError(f"{name}={brief(value)} is not a time: use an aware datetime")
    return to_us(value, name)


def _refuse_empty(timing: Timing) -> None:
    """Of a timing that has both ends: there has to be a tick between them."""
    start, end = timing.start, timing.end
    if start is None or end is None:
        return
    if end < start:
        raise ConfigError(f"end={_shown(end)} is before start={_shown(start)}: exchange or correct them")
    if timing.after(start - 1) is None:
        first = msgspec.structs.replace(timing, end=None).after(start - 1)
        raise ConfigError(
            f"end={_shown(end)} is before the first time, {'never' if first is None else _shown(first)}: "
            "it would never fire; move the end"
        )


def _shown(moment: int) -> str:
    return from_us(moment).isoformat()
