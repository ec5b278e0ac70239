"""Figures as people and programs read them: a point for each route and span of time, with its quantiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from penstock.domain.clock import from_us
from penstock.domain.figures.grid import Spread, quantile
from penstock.domain.figures.series import Figures, Route
from penstock.store.contract import KEPT_SECONDS, SPANS, Depth, FigureRow, Span


class Durations(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds that so many of them did not exceed, within 8 %; None of none."""

    p50: float | None
    p90: float | None
    p99: float | None


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """What happened to the jobs of a route in the span that began `at`.

    `counts` has those that are not zero, by their words (completed, failed, …). `busy_seconds` is how long attempts
    have run, `runs` how many that were; `run` how long each took, `wait` how long from due to begun. `depth` is what
    was there at one moment of that time; None: nobody looked.
    """

    at: datetime
    type: str
    queue: str
    capability: str
    counts: Mapping[str, int]
    busy_seconds: float
    runs: int
    run: Durations
    wait: Durations
    depth: Depth | None


def points_of(rows: Iterable[FigureRow]) -> list[Point]:
    return [_point(row.at, row.route, row.figures, row.depth) for row in rows]


def durations_of(spread: Spread) -> Durations:
    return Durations(p50=quantile(spread, 0.5), p90=quantile(spread, 0.9), p99=quantile(spread, 0.99))


def span_for(seconds: float) -> Span:
    """The finest whose rows are kept for so long."""
    return next((span for span in SPANS if seconds <= KEPT_SECONDS[span]), SPANS[-1])


def _point(at: int, route: Route, figures: Figures, depth: Depth | None) -> Point:
    return Point(
        at=from_us(at), type=route.type, queue=route.queue, capability=route.capability,
        counts={count.value: number for count, number in figures.counts.items() if number},
        busy_seconds=figures.ran, runs=figures.runs, run=durations_of(figures.running),
        wait=durations_of(figures.waiting), depth=depth,
    )  # fmt: skip
