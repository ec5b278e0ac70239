"""Looks at a store, as the store would have answered them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.domain.clock import MICROSECONDS
from penstock.domain.figures.grid import place_of
from penstock.domain.figures.series import Count, Figures, Route, TenantFigures
from penstock.observe.top.look import Look
from penstock.store.contract import Depth, FigurePage, FigureRow, Gauge, Sample, TenantRow, WorkerInfo
from tests.contract.clock import START_US
from tests.unit.observe.samples import worker

SECONDS = 100
"""The time of which a look has the figures."""
WORKERS = (worker(types=None, slots=10),)


def route(type_: str, queue: str = "default", capability: str = "general") -> Route:
    return Route(type_, queue, capability)


def gauge(type_: str, queue: str = "default", *, oldest: float | None = None, **depth: int) -> Gauge:
    """`oldest` has waited for so many seconds. What is pending is ready, unless it says otherwise."""
    due = None if oldest is None else START_US - int(oldest * MICROSECONDS)
    return Gauge(
        route=route(type_, queue), depth=Depth(**{"ready": depth.get("pending", 0), **depth}), oldest_due_at=due
    )


def sample(*gauges: Gauge, age: float = 0.0, seconds: float = 0.0) -> Sample:
    return Sample(at=START_US - int(age * MICROSECONDS), seconds=seconds, gauges=gauges, ended=None)


def done(
    type_: str, queue: str = "default", *, run: float = 0.5, wait: float = 2.0, at: int = 0, **counts: int
) -> FigureRow:
    found = {Count(name): number for name, number in counts.items()}
    runs = found.get(Count.COMPLETED, 0) + found.get(Count.FAILED, 0)
    running, waiting = ({place_of(run): runs}, {place_of(wait): runs}) if runs else ({}, {})
    return FigureRow(at=at, route=route(type_, queue), figures=Figures(found, run * runs, running, waiting))


def tenant(org: str, completed: int = 0, failed: int = 0, ran: float = 0.0, at: int = 0) -> TenantRow:
    return TenantRow(at=at, org=org, figures=TenantFigures(completed, failed, ran))


def look(
    *rows: FigureRow, sampled: Sample | None = None, workers: Sequence[WorkerInfo] = WORKERS,
    tenants: Sequence[TenantRow] = (), **fields: Any,
) -> Look:  # fmt: skip
    return Look(
        now=START_US, since=START_US - SECONDS * MICROSECONDS, page=FigurePage(rows, tenants, START_US), sample=sampled,
        workers=workers, **fields,
    )  # fmt: skip
