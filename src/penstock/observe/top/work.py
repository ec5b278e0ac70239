"""The work of types and of queues: what happens to their jobs, what waits, and how many slots there are for it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.figures.series import Count, Figures, Route, total
from penstock.observe.figures.points import Durations, durations_of
from penstock.observe.stuck import takers_among
from penstock.observe.top.look import Look
from penstock.observe.top.slots import Slots
from penstock.store.contract import Gauge, Sample

_ENDS = (Count.COMPLETED, Count.DEAD, Count.CANCELLED, Count.EXPIRED)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The jobs of a type or a queue. `claimed` are with a worker and have not begun; `slots` are those of all workers
    that take some of them. `failed_share` is of the attempts that ended, None of none; `comes_per_second` is not known
    before what waits was counted twice.
    """

    name: str
    completed_per_second: float
    failed_per_second: float
    failed_share: float | None
    comes_per_second: float | None
    pending: int
    scheduled: int
    claimed: int
    running: int
    slots: int
    oldest_seconds: float | None
    run: Durations
    wait: Durations


def works(look: Look, by: Literal["type", "queue"]) -> list[Work]:
    slots = Slots(takers_among(look.workers))
    return [_work(look, slots, name, group) for name, group in _groups(look, by).items()]


class _Group:
    """What was found of some routes."""

    def __init__(self) -> None:
        self.figures: list[Figures] = []
        self.gauges: list[Gauge] = []
        self.routes: set[Route] = set()
        self.unended_before = 0

    def depth(self, name: str) -> int:
        return sum(getattr(gauge.depth, name) for gauge in self.gauges)


def _groups(look: Look, by: str) -> dict[str, _Group]:
    found: dict[str, _Group] = {}

    def of(route: Route) -> _Group:
        group = found.setdefault(getattr(route, by), _Group())
        group.routes.add(route)
        return group

    for gauge in look.sample.gauges if look.sample else ():
        of(gauge.route).gauges.append(gauge)
    for row in look.page.rows:
        of(row.route).figures.append(row.figures)
    for gauge in look.before.gauges if look.before else ():
        of(gauge.route).unended_before += gauge.depth.unended
    return found


def _work(look: Look, slots: Slots, name: str, group: _Group) -> Work:
    done = total(group.figures)
    completed, failed = done.counts.get(Count.COMPLETED, 0), done.counts.get(Count.FAILED, 0)
    oldest = min((gauge.oldest_due_at for gauge in group.gauges if gauge.oldest_due_at is not None), default=None)
    return Work(
        name=name, completed_per_second=completed / look.seconds, failed_per_second=failed / look.seconds,
        failed_share=share_of(failed, completed),
        comes_per_second=comes(look, done, group.gauges, group.unended_before),
        pending=group.depth("pending"), scheduled=group.depth("scheduled"),
        claimed=group.depth("claimed"), running=group.depth("running"), slots=slots.of(group.routes),
        oldest_seconds=waited(look, oldest), run=durations_of(done.running), wait=durations_of(done.waiting),
    )  # fmt: skip


def ended_per_second(look: Look, done: Figures) -> float:
    return sum(done.counts.get(count, 0) for count in _ENDS) / look.seconds


def comes(look: Look, done: Figures, gauges: Iterable[Gauge], unended_before: int) -> float | None:
    """How many jobs are enqueued in a second: as many as end, and those by which there are more. Nobody counts them."""
    seconds = _between(look.before, look.sample)
    if seconds is None:
        return None
    more = sum(gauge.depth.unended for gauge in gauges) - unended_before
    return max(0.0, ended_per_second(look, done) + more / seconds)


def _between(before: Sample | None, sample: Sample | None) -> float | None:
    if before is None or sample is None or before.at >= sample.at:
        return None
    return (sample.at - before.at) / MICROSECONDS


def waited(look: Look, due_at: int | None) -> float | None:
    return None if due_at is None else max(0.0, (look.now - due_at) / MICROSECONDS)


def share_of(failed: int, completed: int) -> float | None:
    return failed / (failed + completed) if failed or completed else None
