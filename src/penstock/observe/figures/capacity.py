"""How many workers it takes (O4): the view of the store, and what is reckoned from its rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, time, timedelta
from math import ceil

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import ConfigError
from penstock.domain.figures.series import Route
from penstock.domain.flow.routing import LaneKey, why_not
from penstock.domain.options import NO_RESOURCES
from penstock.domain.texts import brief
from penstock.observe.stuck import takers_among
from penstock.store.contract import CapacityRow, Sample, WorkerInfo

STALE_SECONDS = 60.0
STALE_RESTS = 150
"""A sample is renewed after fifty times as long as it took; after three times that, nobody does it."""

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


def takers_of(route: Route, workers: Sequence[WorkerInfo]) -> list[WorkerInfo]:
    """The workers that claim, and could take jobs of this route; whether they have the resources is left open."""
    lane = LaneKey(*route, NO_RESOURCES)
    return [worker for worker in takers_among(workers) if not why_not(worker, lane)]


def is_stale(sample: Sample, now: int) -> bool:
    """Whether nobody counts any more: nobody leads."""
    return now - sample.at > max(STALE_SECONDS, STALE_RESTS * sample.seconds) * MICROSECONDS


def workers_for(row: CapacityRow, hours: float) -> int | None:
    """How many workers have done in so many hours what is pending now; None if it is not known."""
    rate = row.jobs_per_worker_hour
    return None if rate is None else ceil(row.pending / (rate * hours))


def moment_of(text: str | time | datetime, now: datetime) -> datetime:
    """The next time that the clock shows this (`08:00`, in the time zone of `now`), or a moment that is given whole."""
    if isinstance(text, time | datetime):
        text = text.isoformat("minutes") if isinstance(text, time) else text.isoformat()
    if not isinstance(text, str):
        raise ConfigError(f"by={brief(text)} is not a time: write it like '08:00', or give a datetime")
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
