"""app.stats: figures of what happened, samples of what waits, and how many workers it takes."""

from __future__ import annotations

from datetime import datetime, time
from typing import TypedDict, Unpack

import msgspec

from penstock.client.client import Client, refuse_in_loop
from penstock.client.steps import Steps, awaited, waited
from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.duration import Duration, parse_duration
from penstock.domain.errors import ConfigError
from penstock.domain.figures.series import Route
from penstock.domain.texts import brief
from penstock.observe.figures.capacity import moment_of, takers_of, workers_for
from penstock.observe.figures.points import Point, points_of, span_for
from penstock.store.contract import SPANS, CapacityRow, FigurePage, ReadFigures, Sample, Span, WorkerInfo


class Which(TypedDict, total=False):
    """Of which jobs. Nothing given means all."""

    type: str | None
    queue: str | None
    capability: str | None


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the view `capacity` with the workers that there are now, and its moment as one; with a time to be done
    `by` also how many workers that takes.
    """

    type: str
    queue: str
    capability: str
    pending: int
    ready: int
    claimed: int
    running: int
    completed_last_hour: int
    failed_last_hour: int
    active_workers: int
    avg_duration_seconds: float | None
    jobs_per_worker_hour: float | None
    hours_to_drain: float | None
    workers_for_1_hour: int | None
    workers_for_4_hours: int | None
    workers_for_8_hours: int | None
    sampled_at: datetime
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

    def capacity(self, type: str | None = None, *, by: str | time | datetime | None = None) -> list[Capacity]:
        """How many workers it takes, by type, queue and capability. `by` is a time of the day, such as "08:00", or a
        whole moment.
        """
        refuse_in_loop("capacity", "acapacity")
        return waited(self._capacity(type, by))

    async def acapacity(self, type: str | None = None, *, by: str | time | datetime | None = None) -> list[Capacity]:
        return await awaited(self._capacity(type, by))

    def _capacity(self, type: str | None, by: str | time | datetime | None) -> Steps[list[Capacity]]:
        now: int = yield self._client.store.read_clock()
        moment = None if by is None else moment_of(by, from_us(now).astimezone())
        rows: list[CapacityRow] = yield self._client.store.read_capacity()
        workers: list[WorkerInfo] = yield self._client.store.list_workers()
        return [_capacity(row, workers, moment, now) for row in rows if type in (None, row.type)]

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


def _capacity(row: CapacityRow, workers: list[WorkerInfo], by: datetime | None, now: int) -> Capacity:
    """Who works is looked at now: with the last worker there may be nobody left who takes a sample."""
    active = len(takers_of(Route(row.type, row.queue, row.capability), workers))
    rate = row.jobs_per_worker_hour
    known = msgspec.structs.asdict(row) | {
        "sampled_at": from_us(row.sampled_at),
        "active_workers": active,
        "hours_to_drain": None if rate is None or not active else row.pending / (rate * active),
    }
    if by is None:
        return Capacity(**known)
    hours = (by - from_us(now)).total_seconds() / 3600
    return Capacity(**known, by=by, workers_by=workers_for(row, hours))
