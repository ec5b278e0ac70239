"""Time zones: the same on every machine, for they come with a package and not from the operating system."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from penstock.domain.errors import ConfigError
from penstock.domain.texts import brief

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 — local times are naive here
SHIFT_SECONDS_MAX = 26 * 3600
"""No clock was ever set further than this, in either direction: a day, where the date line was moved."""
STEP_SECONDS = 3 * 3600
"""No two changes of a clock are closer to each other than this."""


@cache
def zone_names() -> frozenset[str]:
    """All that are known, such as Europe/Berlin."""
    from importlib.resources import files

    return frozenset((files("tzdata") / "zones").read_text("utf-8").split())


@cache
def zone(name: str) -> Zone:
    """The zone of this name, or an error that offers those that are spelled alike."""
    from importlib.resources import files
    from zoneinfo import ZoneInfo

    if name not in zone_names():
        raise ConfigError(f"timezone={brief(name)} does not exist; {_offer(name)}")
    with (files("tzdata") / "zoneinfo").joinpath(*name.split("/")).open("rb") as data:
        return Zone(ZoneInfo.from_file(data, key=name))


def _offer(name: object) -> str:
    from difflib import get_close_matches

    wanted = str(name).lower().replace(" ", "_")
    known = {one.lower(): one for one in zone_names()} | {one.lower().rpartition("/")[2]: one for one in zone_names()}
    near = dict.fromkeys(known[one] for one in get_close_matches(wanted, known, n=3))
    if near:
        return f"did you mean {' or '.join(map(repr, near))}?"
    return "use a name of the tz database, such as 'Europe/Berlin', 'America/New_York' or 'UTC'"


class Zone:
    """What a clock on the wall shows at a moment, in seconds since the epoch, and when that changes."""

    def __init__(self, info: ZoneInfo) -> None:
        self._info = info

    def local(self, second: int) -> datetime:
        """What the wall clock shows, naive."""
        return EPOCH + timedelta(seconds=second + self.offset(second))

    def offset(self, second: int) -> int:
        """How far the wall clock is ahead of UTC."""
        moment = datetime.fromtimestamp(second, UTC).astimezone(self._info)
        offset = moment.utcoffset()
        assert offset is not None
        return round(offset.total_seconds())

    def first_at(self, wall: datetime) -> int:
        """The first moment at which the wall clock shows this time, or a later one if it leaps over it."""
        offset = wall.replace(tzinfo=self._info, fold=0).utcoffset()
        assert offset is not None
        found = _seconds(wall) - round(offset.total_seconds())
        leap = _seconds(self.local(found)) - _seconds(wall)
        if leap <= 0:
            return found
        return _bisected(lambda second: self.local(second) >= wall, found - leap - 1, found)

    def change_after(self, second: int, last: int) -> int | None:
        """The first moment from which on the clock is another, after `second` and not after `last`."""
        here = self.offset(second)
        while second < last:
            ahead = min(second + STEP_SECONDS, last)
            if self.offset(ahead) != here:
                return _bisected(lambda at: self.offset(at) != here, second, ahead)
            second = ahead
        return None

    def latest_shown(self, second: int) -> datetime:
        """The latest time that the wall clock has shown up to now: later than what it shows after it was set back."""
        latest, at = self.local(second), second - SHIFT_SECONDS_MAX
        while (change := self.change_after(at, second)) is not None:
            latest = max(latest, self.local(change - 1))
            at = change
        return latest


def _seconds(wall: datetime) -> int:
    return (wall - EPOCH) // timedelta(seconds=1)


def _bisected(is_past: Callable[[int], bool], before: int, at: int) -> int:
    """The first second for which it is true, between one for which it is not and one for which it is."""
    while at - before > 1:
        middle = (before + at) // 2
        before, at = (before, middle) if is_past(middle) else (middle, at)
    return at
