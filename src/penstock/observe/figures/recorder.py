"""Counts what a worker's attempts came to: in pages, which go to the store with its heartbeats, and in all since it
began, for whoever asks this process.

A page is made when there is something to count, and sent until it is stored: what is counted meanwhile waits for the
next. So nothing is counted twice, whatever becomes of an answer, and one that dies takes what it has counted since its
last heartbeat along. See docs/decisions/0028-figures.md.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, repeat
from operator import attrgetter

from penstock.domain.clock import MICROSECONDS
from penstock.domain.figures.counting import counts_of
from penstock.domain.figures.grid import place_of
from penstock.domain.figures.series import OTHER, OTHERS, Count, Figures, Route, Tally, TenantFigures, top
from penstock.domain.job import Event
from penstock.observe.events import EndedBatch, Observer, Quiet
from penstock.store.contract import Claim, Completed, Happened, Page

ROUTES_MAX = 1_000
"""Routes that are counted each by itself; the others as one."""
TENANTS_MAX = 20
SAMPLES_MAX = 8
"""Of one claim no more jobs are looked at for how long they waited, and stand for the others."""

Names = tuple[str, str, str]
"""A route, as its jobs name it."""
Timed = tuple[Claim, Completed, float]

_route_of: Callable[[Claim], Names] = attrgetter("type", "queue", "capability")
_tenant_of = attrgetter("tenant")


class Recorder(Observer):
    """The counts of one worker. Safe in threads."""

    quiet = True

    def __init__(self, worker_id: str, book: Callable[[], str]) -> None:
        self._worker_id = worker_id
        self._lock = threading.Lock()
        self._book = book()
        self._number = 0
        self._sent: Page | None = None
        self._tally = Tally()
        self._owed: dict[Names, int] = {}
        """Successes by route that those which are timed next stand for."""
        self._before = Tally()
        """All that went into pages, and what others have done to jobs, which is counted where they did it."""

    # Counting

    def happened(self, jobs: Sequence[Happened]) -> None:
        """The store has counted it. It is told here as what this process has seen."""
        with self._lock:
            for job in jobs:
                counts = counts_of(job.event, job.decided_by)
                if counts:
                    self._figures(self._before, job.type, job.queue, job.capability).count(*counts)

    def claimed(self, worker_id: str, claims: Sequence[Claim], claimed_at: int) -> None:
        """How long they had waited for it: that they were claimed is counted at their end."""
        if worker_id != self._worker_id:
            return
        with self._lock:
            for claim, weight in _sampled(claims, len(claims)):
                figures = self._figures(self._tally, claim.type, claim.queue, claim.capability)
                _note(figures.claiming, claimed_at - claim.due_at, weight)

    def ended(self, batch: EndedBatch) -> None:
        if batch.worker_id != self._worker_id:
            return
        with self._lock:
            for one in batch.ended:
                if one.end.token in batch.lost:
                    self._figures(self._tally, one.claim.type, one.claim.queue, one.claim.capability).claimed += 1
                else:
                    self._count(one.claim, batch.event_of(one), one.end.started_at, one.seconds, one.timed_out)
            if batch.quiet is not None:
                self._count_quiet(batch.quiet, batch)

    def _count(self, claim: Claim, event: Event, started_at: int | None, seconds: float | None, late: bool) -> None:
        figures = self._figures(self._tally, claim.type, claim.queue, claim.capability)
        counts = counts_of(event)
        figures.claimed += 1
        figures.count(*counts)
        if event in (Event.COMPLETE, Event.FAIL):
            figures.attempts[claim.attempt] = figures.attempts.get(claim.attempt, 0) + 1
        if late:
            figures.count(Count.TIMEOUT)
        if seconds is not None:
            figures.count(Count.STARTED)
            figures.ran += seconds
            place = place_of(seconds)
            figures.running[place] = figures.running.get(place, 0) + 1
            if started_at is not None:
                _note(figures.waiting, started_at - claim.due_at, 1)
        if claim.tenant is not None:
            tenant = self._tenant(claim.tenant.org)
            tenant.completed += Count.COMPLETED in counts
            tenant.failed += Count.FAILED in counts
            tenant.ran += seconds or 0.0

    def _count_quiet(self, quiet: Quiet, batch: EndedBatch) -> None:
        """Successes that nobody is told of one by one. Once for each batch of most workers: what is done for every job
        is done without a call of ours.
        """
        if batch.lost or batch.cancelled:
            quiet = self._without_others(quiet, batch)
        claims, done, seconds = quiet
        routes = Counter(map(_route_of, claims))
        timed: dict[Names, list[Timed]] = {}
        for one in zip(claims, done, seconds):  # noqa: B905 — the others are not timed
            timed.setdefault(_route_of(one[0]), []).append(one)
        for names, jobs in routes.items():
            figures = self._figures(self._tally, *names)
            figures.claimed += jobs
            figures.count(Count.STARTED, Count.COMPLETED, times=jobs)
            self._time(figures, names, jobs, timed.get(names, ()))
        if any(map(_tenant_of, claims)):
            self._count_tenants(claims, seconds)

    def _without_others(self, quiet: Quiet, batch: EndedBatch) -> Quiet:
        """Few are not stored as they were sent."""
        otherwise = batch.lost | batch.cancelled
        kept = [number for number, done in enumerate(quiet.done) if done.token not in otherwise]
        for claim, done in zip(quiet.claims, quiet.done, strict=True):
            if done.token in batch.cancelled:
                self._count(claim, Event.CANCEL, done.started_at, None, late=False)
        timed = [quiet.seconds[number] for number in kept if number < len(quiet.seconds)]
        return Quiet([quiet.claims[number] for number in kept], [quiet.done[number] for number in kept], timed)

    def _time(self, figures: Figures, names: Names, jobs: int, timed: Sequence[Timed]) -> None:
        """Those that were timed stand for all, also for those of which none was timed before."""
        jobs += self._owed.pop(names, 0)
        if not timed:
            self._owed[names] = jobs
            return
        step, rest = divmod(jobs, len(timed))
        for number, (claim, done, seconds) in enumerate(timed):
            weight = step + (number < rest)
            figures.ran += seconds * weight
            place = place_of(seconds)
            figures.running[place] = figures.running.get(place, 0) + weight
            _note(figures.waiting, done.started_at - claim.due_at, weight)
            figures.attempts[claim.attempt] = figures.attempts.get(claim.attempt, 0) + weight

    def _count_tenants(self, claims: Sequence[Claim], seconds: Sequence[float]) -> None:
        """For how long those ran that were not timed is taken from those that were."""
        average = sum(seconds) / len(seconds) if seconds else 0.0
        for claim in claims:
            if claim.tenant is not None:
                tenant = self._tenant(claim.tenant.org)
                tenant.completed += 1
                tenant.ran += average

    def _figures(self, tally: Tally, type: str, queue: str, capability: str) -> Figures:
        route = Route(type, queue, capability)
        if route not in tally.routes and len(tally.routes) >= ROUTES_MAX:
            route = OTHERS
        return tally.of(route)

    def _tenant(self, org: str) -> TenantFigures:
        tenants = self._tally.tenants
        return self._tally.of_tenant(org if org in tenants or len(tenants) < ROUTES_MAX else OTHER)

    # Telling

    def page(self) -> Page | None:
        """What is to be stored next: what was sent before and is not known to be stored, or else what is new."""
        with self._lock:
            if self._sent is None and self._tally:
                tally, self._tally = self._tally, Tally()
                tally.tenants = top(tally.tenants, TENANTS_MAX)
                self._number += 1
                self._sent = Page(self._book, self._number, tally)
            return self._sent

    def stored(self, page: Page) -> None:
        with self._lock:
            if page is self._sent:
                self._sent = None
                _add(self._before, page.tally)

    @property
    def unstored(self) -> bool:
        return self._sent is not None or bool(self._tally)

    def total(self) -> Tally:
        """All that was counted here since it began."""
        found = Tally()
        with self._lock:
            for part in (self._before, self._sent.tally if self._sent else None, self._tally):
                if part is not None:
                    _add(found, part)
        return found


def _add(into: Tally, more: Tally) -> None:
    """With no more routes than are counted each by itself."""
    for route, figures in more.routes.items():
        known = route in into.routes or len(into.routes) < ROUTES_MAX
        into.of(route if known else OTHERS).add(figures)


def _sampled(claims: Sequence[Claim], jobs: int) -> Iterable[tuple[Claim, int]]:
    """A few of them, evenly spaced, each with how many it stands for: together as many as there are."""
    if jobs <= SAMPLES_MAX:
        return zip(claims, repeat(1))
    step, rest = divmod(jobs, SAMPLES_MAX)
    weights = [step + 1] * rest + [step] * (SAMPLES_MAX - rest)
    return zip((claims[place] for place in accumulate(weights[:-1], initial=0)), weights, strict=True)


def _note(spread: dict[int, int], us: int, weight: int) -> None:
    place = place_of(us / MICROSECONDS)
    spread[place] = spread.get(place, 0) + weight
