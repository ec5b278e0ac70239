"""Counts what a worker's attempts came to: in pages, which go to the store with its heartbeats, and in all since it
began, for whoever asks this process.

A page is made when there is something to count, and sent until it is stored: what is counted meanwhile waits for the
next. So nothing is counted twice, whatever becomes of an answer, and one that dies takes what it has counted since its
last heartbeat along. See docs/decisions/0028-figures.md.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, repeat
from typing import TypeVar

from penstock.domain.clock import MICROSECONDS
from penstock.domain.figures.counting import counts_of
from penstock.domain.figures.grid import place_of
from penstock.domain.figures.series import OTHER, OTHERS, Count, Figures, Route, Tally, TenantFigures, top
from penstock.domain.job import Event
from penstock.observe.events import EndedBatch, Observer, Quiet
from penstock.store.contract import Claim, Happened, Page

T = TypeVar("T")

ROUTES_MAX = 1_000
"""Routes that are counted each by itself; the others as one."""
TENANTS_MAX = 20
SAMPLES_MAX = 32
"""Of the successes in one batch no more are looked at for how long they took, and stand for the others."""


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
        if worker_id != self._worker_id:
            return
        with self._lock:
            routes = _by_route(claims)
            most = _most(len(claims), len(routes))
            for route, found in routes.items():
                figures = self._figures(self._tally, *route)
                figures.claimed += len(found)
                for claim, weight in _sampled(found, most):
                    _note(figures.claiming, claimed_at - claim.due_at, weight)

    def ended(self, batch: EndedBatch) -> None:
        if batch.worker_id != self._worker_id:
            return
        with self._lock:
            for one in batch.ended:
                if one.end.token not in batch.lost:
                    self._count(one.claim, batch.event_of(one), one.end.started_at, one.seconds, one.timed_out)
            if batch.quiet is not None:
                self._count_quiet(batch.quiet, batch)

    def _count(self, claim: Claim, event: Event, started_at: int | None, seconds: float | None, late: bool) -> None:
        figures = self._figures(self._tally, claim.type, claim.queue, claim.capability)
        counts = counts_of(event)
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
        """Successes that nobody is told of one by one. Few are not stored as they were sent."""
        otherwise = batch.lost | batch.cancelled
        routes: dict[tuple[str, str, str], list[tuple[Claim, int, float]]] = {}
        for claim, done, seconds in zip(*quiet, strict=True):
            if otherwise and done.token in otherwise:
                if done.token in batch.cancelled:
                    self._count(claim, Event.CANCEL, done.started_at, seconds, late=False)
                continue
            key = claim.type, claim.queue, claim.capability
            found = routes.get(key)
            if found is None:
                found = routes[key] = []
            found.append((claim, done.started_at, seconds))
            if claim.tenant is not None:
                tenant = self._tenant(claim.tenant.org)
                tenant.completed += 1
                tenant.ran += seconds
        most = _most(len(quiet.claims), len(routes))
        for key, jobs in routes.items():
            self._count_route(self._figures(self._tally, *key), jobs, most)

    def _count_route(self, figures: Figures, jobs: list[tuple[Claim, int, float]], most: int) -> None:
        """Once for each batch, and the loop for every job of most workers: no call more than it needs."""
        figures.count(Count.STARTED, Count.COMPLETED, times=len(jobs))
        running, waiting, attempts, ran = figures.running, figures.waiting, figures.attempts, 0.0
        for (claim, started_at, seconds), weight in _sampled(jobs, most):
            ran += seconds * weight
            place = place_of(seconds)
            running[place] = running.get(place, 0) + weight
            place = place_of((started_at - claim.due_at) / MICROSECONDS)
            waiting[place] = waiting.get(place, 0) + weight
            attempts[claim.attempt] = attempts.get(claim.attempt, 0) + weight
        figures.ran += ran

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


def _by_route(claims: Sequence[Claim]) -> dict[tuple[str, str, str], list[Claim]]:
    routes: dict[tuple[str, str, str], list[Claim]] = {}
    for claim in claims:
        routes.setdefault((claim.type, claim.queue, claim.capability), []).append(claim)
    return routes


def _sampled(found: Sequence[T], most: int) -> Iterable[tuple[T, int]]:
    """So many of them at most, evenly spaced, each with how many it stands for: together as many as there are."""
    if len(found) <= most:
        return zip(found, repeat(1))
    step, rest = divmod(len(found), most)
    weights = [step + 1] * rest + [step] * (most - rest)
    return zip((found[place] for place in accumulate(weights[:-1], initial=0)), weights, strict=True)


def _most(jobs: int, routes: int) -> int:
    """How many of each route are looked at: all of a few, and of many no more than is worth it."""
    return jobs if jobs <= SAMPLES_MAX else max(2, SAMPLES_MAX // routes)


def _note(spread: dict[int, int], us: int, weight: int) -> None:
    place = place_of(us / MICROSECONDS)
    spread[place] = spread.get(place, 0) + weight
