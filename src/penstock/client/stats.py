"""app.stats: figures of what happened, samples of what waits, and how many workers it takes."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict, Unpack

import msgspec

from penstock.client.client import Client, refuse_in_loop
from penstock.client.steps import Steps, awaited, waited
from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.duration import Duration, parse_duration
from penstock.domain.errors import ConfigError
from penstock.domain.texts import brief
from penstock.observe.figures.capacity import moment_of, workers_for
from penstock.observe.figures.points import Point, points_of, span_for
from penstock.store.contract import SPANS, CapacityRow, FigurePage, ReadFigures, Sample, Span


class Which(TypedDict, total=False):
    """Of which jobs. Nothing given means all."""

    type: str | None
    queue: str | None
    capability: str | None


class Capacity(CapacityRow, frozen=True, kw_only=True):
    """A row of the view `capacity`; with a time to be done `by` also how many workers that takes."""

    by: datetime | None = None
    workers_by: int | None = None


class Stats:
    """The figures of a store. Each method has a twin for async code: capacity and acapacity, …"""

    def __init__(self, client: Client) -> None:
        self._client = client

    def sample(self) -> Sample | None:
        """What waits and runs, as whoever leads has counted it last; None before the first time."""
        refuse_in_loop("sample", "asample")
        return waited(self._sample())

    async def asample(self) -> Sample | None:
        return await awaited(self._sample())

    def _sample(self) -> Steps[Sample | None]:
        found: Sample | None = yield self._client.store.read_sample()
        return found

    def capacity(self, type: str | None = None, *, by: str | None = None) -> list[Capacity]:
        """How many workers it takes, by type, queue and capability. `by` is a time of the day, such as "08:00"."""
        refuse_in_loop("capacity", "acapacity")
        return waited(self._capacity(type, by))

    async def acapacity(self, type: str | None = None, *, by: str | None = None) -> list[Capacity]:
        return await awaited(self._capacity(type, by))

    def _capacity(self, type: str | None, by: str | None) -> Steps[list[Capacity]]:
        now: int = yield self._client.store.read_clock()
        moment = None if by is None else moment_of(by, from_us(now).astimezone())
        rows: list[CapacityRow] = yield self._client.store.read_capacity()
        return [_by(row, moment, now) for row in rows if type in (None, row.type)]

    def history(self, since: Duration = "1h", *, every: Duration | None = None, **which: Unpack[Which]) -> list[Point]:
        """What happened since then, by minute, ten minutes or hour, and by type, queue and capability.

        `every` is one of these; if it is not given, it is the finest that was kept for so long.
        """
        refuse_in_loop("history", "ahistory")
        return waited(self._history(since, every, which))

    async def ahistory(
        self, since: Duration = "1h", *, every: Duration | None = None, **which: Unpack[Which]
    ) -> list[Point]:
        return await awaited(self._history(since, every, which))

    def _history(self, since: Duration, every: Duration | None, which: Which) -> Steps[list[Point]]:
        seconds = parse_duration(since, "since")
        span = span_for(seconds) if every is None else _span(every)
        now: int = yield self._client.store.read_clock()
        asked = ReadFigures(span=span, since=now - int(seconds * MICROSECONDS), **which)
        found: FigurePage = yield self._client.store.read_figures(asked)
        return points_of(found.rows)


def _span(every: Duration) -> Span:
    seconds = parse_duration(every, "every")
    for span in SPANS:
        if seconds == span:
            return span
    raise ConfigError(f"every={brief(every)} is not kept: one of 1m, 10m, 1h")


def _by(row: CapacityRow, moment: datetime | None, now: int) -> Capacity:
    known = msgspec.structs.asdict(row)
    if moment is None:
        return Capacity(**known)
    hours = (moment - from_us(now)).total_seconds() / 3600
    return Capacity(**known, by=moment, workers_by=workers_for(row, hours))
