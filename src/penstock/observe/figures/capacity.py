"""How many workers it takes (O4): the view of the store, and what is reckoned from its rows."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from math import ceil

from penstock.domain.errors import ConfigError
from penstock.domain.texts import brief
from penstock.store.contract import CapacityRow

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def workers_for(row: CapacityRow, hours: float) -> int | None:
    """How many workers have done in so many hours what is pending now; None if it is not known."""
    rate = row.jobs_per_worker_hour
    return None if rate is None else ceil(row.pending / (rate * hours))


def moment_of(text: str, now: datetime) -> datetime:
    """The next time that the clock shows this (`08:00`, in the time zone of `now`), or a moment that is given whole."""
    found = _TIME.fullmatch(text)
    if found is None:
        return _whole(text, now)
    moment = now.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
    return moment if moment > now else moment + timedelta(days=1)


def _whole(text: str, now: datetime) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(
            f"by={brief(text)} is not a time: write it like 08:00, or like 2030-01-31T08:00:00+01:00"
        ) from None
    if moment.utcoffset() is None:
        raise ConfigError(f"by={brief(text)} has no time zone: write it like {moment.isoformat()}Z, or just 08:00")
    if moment <= now:
        raise ConfigError(f"by={brief(text)} is past: it is {now.isoformat(timespec='seconds')} now")
    return moment
