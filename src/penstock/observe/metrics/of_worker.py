"""What a worker shows of itself: made of its recorder's counts when somebody asks, and of nothing before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from math import fsum

from penstock.domain.figures.series import OTHER, OTHERS, Count, Figures, Route, Tally, total
from penstock.observe.metrics.catalogue import ATTEMPTS
from penstock.observe.metrics.shown import Histogram, Series, Shown, spread_out

TYPES_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """How a worker is at this moment. A coordinator has neither slots nor types."""

    leads: bool = False
    slots: int | None = None
    busy: float = 0.0
    """The share of slots that are taken, of the kind of work that has the largest."""
    types: tuple[str, ...] = ()
    active: Mapping[str, int]
    """How many jobs run, by type."""


def of_worker(tally: Tally, now: Now) -> Shown:
    by_type = _grouped((route.type, figures) for route, figures in tally.routes.items())
    if OTHERS not in tally.routes:  # Else what is declared and not counted by itself is among them.
        for name in now.types[: max(0, TYPES_MAX - len(by_type))]:
            by_type.setdefault(name, Figures())
    everything = total(tally.routes.values())
    return {
        "jobs_total": _statuses(by_type),
        "job_duration_seconds": {(name,): spread_out(one.running, total=one.ran) for name, one in by_type.items()},
        "job_attempts": {(): _attempts(everything.attempts)},
        "queue_wait_seconds": {(): spread_out(everything.waiting)},
        "scheduling_latency_seconds": {(): spread_out(everything.claiming)},
        **_by_capability(tally.routes),
        **_gauges(now),
    }


def _statuses(by_type: Mapping[str, Figures]) -> Series:
    """All of them, also those of which there were none: a rate needs a beginning."""
    return {(name, count.value): float(one.counts.get(count, 0)) for name, one in by_type.items() for count in Count}


def _by_capability(routes: Mapping[Route, Figures]) -> Shown:
    found = _grouped((route.capability, figures) for route, figures in routes.items())
    return {
        "worker_jobs_claimed_total": {(name,): float(one.claimed) for name, one in found.items()},
        "worker_jobs_completed_total": _one_status(found, Count.COMPLETED),
        "worker_jobs_failed_total": _one_status(found, Count.FAILED),
    }


def _one_status(found: Mapping[str, Figures], count: Count) -> Series:
    return {(name,): float(one.counts.get(count, 0)) for name, one in found.items()}


def _attempts(attempts: Mapping[int, int]) -> Histogram:
    up_to = tuple(sum(jobs for attempt, jobs in attempts.items() if attempt <= bound) for bound in ATTEMPTS)
    return Histogram(sum(attempts.values()), up_to, float(sum(attempt * jobs for attempt, jobs in attempts.items())))


def _gauges(now: Now) -> Shown:
    found: dict[str, Series] = {"leader": {(): float(now.leads)}, "build_info": {(_version(),): 1.0}}
    if now.slots is not None:
        found["jobs_active"] = _active(now)
        found["worker_slots"] = {(): float(now.slots)}
        found["worker_utilization"] = {(): now.busy}
    return found


def _active(now: Now) -> Series:
    """Of no more types than are counted each by itself."""
    names = list(dict.fromkeys((*now.active, *now.types)))
    found = {name: now.active.get(name, 0) for name in names[:TYPES_MAX]}
    if len(names) > TYPES_MAX:
        found[OTHER] = sum(now.active.values()) - sum(found.values())
    return {(name,): float(jobs) for name, jobs in found.items()}


def _grouped(named: Iterable[tuple[str, Figures]]) -> dict[str, Figures]:
    """One for each name. Seconds are added exactly, so that a sum never falls, in whatever order they come."""
    found: dict[str, Figures] = {}
    ran: dict[str, list[float]] = {}
    for name, figures in named:
        found.setdefault(name, Figures()).add(figures)
        ran.setdefault(name, []).append(figures.ran)
    for name, one in found.items():
        one.ran = fsum(ran[name])
    return found


@cache
def _version() -> str:
    return version("penstock")
