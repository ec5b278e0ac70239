"""Who floods a queue, and whom that delays, in words."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.domain.figures.series import Figures, Route, total
from penstock.observe.stuck import takers_among
from penstock.observe.top.look import Look
from penstock.observe.top.slots import Slots
from penstock.observe.top.work import comes, ended_per_second, waited
from penstock.observe.words import about, counted
from penstock.store.contract import Gauge

FLOOD_JOBS_MIN = 100
"""Fewer waiting jobs are no flood."""
FLOOD_SHARE = 0.5
DELAYED_SECONDS_MIN = 5.0
"""Whoever waits for less is not delayed; it is also how exactly that is known."""
NAMED_MAX = 2


class Delayed(msgspec.Struct, frozen=True, kw_only=True):
    """Whose jobs wait while another floods their queue, and for how long the oldest has."""

    type: str
    waiting: int
    oldest_seconds: float


class Flood(msgspec.Struct, frozen=True, kw_only=True):
    """`type` has `waiting` of the `of` jobs in the queue that a worker could take. Of those that it delays, who has
    waited the longest is first.
    """

    queue: str
    type: str
    waiting: int
    of: int
    comes_per_second: float | None
    ends_per_second: float
    delayed: Sequence[Delayed]

    @property
    def text(self) -> str:
        share = f"{self.waiting:,} of {self.of:,} waiting jobs in queue {self.queue!r}"
        return f"flood: {self.type!r} has {share}; {_told(self.delayed)}{self._pace}"

    @property
    def _pace(self) -> str:
        pace = self.comes_per_second
        return "" if pace is None else f"; {pace:,.3g}/s come, {self.ends_per_second:,.3g}/s end"


class _Part(msgspec.Struct, frozen=True):
    """A route of a queue, and how many of its jobs come and end in a second."""

    gauge: Gauge
    comes: float | None
    ends: float

    @property
    def ready(self) -> int:
        """What a worker could take: not what is paused or waits for a limit, which delays nobody."""
        return self.gauge.depth.ready

    @property
    def pace(self) -> float:
        return self.comes or 0.0


def floods(look: Look) -> list[Flood]:
    """One for each queue that has one, the largest first."""
    slots = Slots(takers_among(look.workers))
    found = [_flood(look, slots, queue, parts) for queue, parts in _queues(look).items()]
    return sorted((one for one in found if one is not None), key=lambda one: (-one.waiting, one.queue))


def _queues(look: Look) -> dict[str, list[_Part]]:
    figures: dict[Route, list[Figures]] = {}
    for row in look.page.rows:
        figures.setdefault(row.route, []).append(row.figures)
    before = {gauge.route: gauge.depth.unended for gauge in look.before.gauges} if look.before else {}
    found: dict[str, list[_Part]] = {}
    for gauge in look.sample.gauges if look.sample else ():
        done = total(figures.get(gauge.route, ()))
        pace = comes(look, done, [gauge], before.get(gauge.route, 0))
        found.setdefault(gauge.route.queue, []).append(_Part(gauge, pace, ended_per_second(look, done)))
    return found


def _flood(look: Look, slots: Slots, queue: str, parts: Sequence[_Part]) -> Flood | None:
    cause = _cause(parts)
    if cause is None:
        return None
    others = [part.gauge for part in parts if part is not cause]
    return Flood(
        queue=queue, type=cause.gauge.route.type, waiting=cause.ready, of=sum(part.ready for part in parts),
        comes_per_second=cause.comes, ends_per_second=cause.ends, delayed=_delayed(look, slots, cause.gauge, others),
    )  # fmt: skip


def _cause(parts: Sequence[_Part]) -> _Part | None:
    """Who has most of what waits; else who comes faster than it ends, and is most of what comes."""
    most = max(parts, key=lambda part: part.ready)
    if most.ready >= max(FLOOD_JOBS_MIN, FLOOD_SHARE * sum(part.ready for part in parts)):
        return most
    fastest = max(parts, key=lambda part: part.pace)
    floods = fastest.pace > fastest.ends and fastest.pace >= FLOOD_SHARE * sum(part.pace for part in parts)
    return fastest if floods and fastest.ready >= FLOOD_JOBS_MIN else None


def _delayed(look: Look, slots: Slots, cause: Gauge, others: Sequence[Gauge]) -> list[Delayed]:
    """Those that the same workers would take; what no worker takes waits for that, and not because of the flood."""
    found = [
        Delayed(type=gauge.route.type, waiting=gauge.depth.ready, oldest_seconds=waited(look, gauge.oldest_due_at) or 0)
        for gauge in others
        if gauge.depth.ready and slots.shared(gauge.route, cause.route)
    ]
    long = [one for one in found if one.oldest_seconds >= DELAYED_SECONDS_MIN]
    return sorted(long, key=lambda one: (-one.oldest_seconds, one.type))


def _told(delayed: Sequence[Delayed]) -> str:
    if not delayed:
        return "nothing else waits for long there"
    named = ", ".join(f"{one.type!r} waits {about(one.oldest_seconds)}" for one in delayed[:NAMED_MAX])
    more = len(delayed) - NAMED_MAX
    also = f", {counted(more, 'other type')} too" if more > 0 else ""
    return f"{named}{also} there"
