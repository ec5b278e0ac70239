"""Figures that are kept: pages that are added up to rows, and samples of what waits."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.figures.counting import counts_of
from penstock.domain.figures.series import Count, Figures, Route, Tally, TenantFigures, pack, unpack
from penstock.domain.job import StateCode
from penstock.store import contract as p
from penstock.store.contract import KEPT_SECONDS, SPANS, Happened
from penstock.store.sql.engine import Engine
from penstock.store.sql.operations.term import check_term
from penstock.store.sql.steps import Rows, Steps, as_json, run

T = TypeVar("T")
K = TypeVar("K")

COUNTS = tuple(Count)
DEPTHS = p.Depth.__struct_fields__
NEVER = 2**62
"""After all moments, also those of a clock that was set back since."""
BOOK_SECONDS = KEPT_SECONDS[60]
"""A book that got no page for so long is closed: nobody sends its last one again."""

_Spreads = tuple[dict[int, int], dict[int, int], dict[int, int], dict[int, int]]
_decode_spreads = msgspec.json.Decoder(_Spreads).decode
_happened = attrgetter("happened")
_key = itemgetter(0)

log = logging.getLogger("penstock.store")


# Pages


def book_page(page: p.Page) -> Steps[None]:
    """What a worker has counted."""
    yield from run("insert_page", book=page.book, number=page.number, tally=pack(page.tally))


def book_happened(happened: Iterable[Happened]) -> Steps[None]:
    """What an operation has done to jobs, as a part of it. The attempts of workers are counted by those."""
    tally = Tally()
    for one in happened:
        counts = counts_of(one.event, one.decided_by)
        if counts:
            tally.of(Route(one.type, one.queue, one.capability)).count(*counts)
            if one.tenant is not None and (Count.DEAD in counts or Count.EXPIRED in counts):
                tally.of_tenant(one.tenant.org).failed += 1
    if tally:
        yield from run("insert_page", book=None, number=1, tally=pack(tally))


def booked(engine: Engine, steps: Steps[T]) -> Steps[T]:
    """An operation, and what it did to jobs as a part of it."""
    answer = yield from steps
    happened = engine.happened
    if happened:
        yield from book_happened(happened)
    return answer


def booked_enqueue(steps: Steps[list[p.Enqueued]]) -> Steps[list[p.Enqueued]]:
    """An enqueue, some of whose jobs may have ended at once."""
    answers = yield from steps
    if any(map(_happened, answers)):
        yield from book_happened(one for answer in answers for one in answer.happened)
    return answers


def fold_figures(fold: p.FoldFigures) -> Steps[int]:
    yield from check_term(fold.term)
    pages = yield from run("new_pages", limit=fold.limit)
    found = _by_span(((at, _read(packed)) for _, at, packed in pages), SPANS[0])
    sums = {SPANS[0]: found} | {span: (found := _by_span(found.items(), span)) for span in SPANS[1:]}
    for span in SPANS:
        yield from _fold_into(span, sums[span])
    if pages:
        yield from run("mark_folded", entries=[entry for entry, _, _ in pages])
    if len(pages) < fold.limit:
        yield from run("forget_pages", age=BOOK_SECONDS * MICROSECONDS)
        for span, seconds in KEPT_SECONDS.items():
            yield from run("forget_figures", span=span, age=seconds * MICROSECONDS)
            yield from run("forget_tenant_figures", span=span, age=seconds * MICROSECONDS)
    return len(pages)


def _read(packed: str) -> Tally:
    """One that cannot be read holds up no other."""
    try:
        return unpack(packed)
    except msgspec.MsgspecError as error:
        log.error("a page of figures cannot be read, and is left out: %s", error)
        return Tally()


def _by_span(by_moment: Iterable[tuple[int, Tally]], span: int) -> dict[int, Tally]:
    """Each is added up of the span before, which is a part of it: not of all pages again."""
    found: dict[int, Tally] = {}
    for at, tally in by_moment:
        found.setdefault(at - at % (span * MICROSECONDS), Tally()).add(tally)
    return found


def _fold_into(span: int, tallies: Mapping[int, Tally]) -> Steps[None]:
    keys = [{"span": span, "at": at, **route._asdict()} for at, tally in tallies.items() for route in tally.routes]
    if keys:
        for _, at, type_, queue, capability, *columns in (yield from run("read_folded", rows=as_json(keys))):
            tallies[at].of(Route(type_, queue, capability)).add(_figures(columns))
        rows = [
            {"span": span, "at": at, **route._asdict(), **_columns(figures)}
            for at, tally in tallies.items()
            for route, figures in tally.routes.items()
        ]
        yield from run("fold_into", rows=as_json(rows))
    tenants = [
        {"span": span, "at": at, "org": org, "completed": one.completed, "failed": one.failed, "ran": one.ran}
        for at, tally in tallies.items()
        for org, one in tally.tenants.items()
    ]
    if tenants:
        yield from run("fold_tenants", rows=as_json(tenants))


def _columns(figures: Figures) -> dict[str, Any]:
    spreads = (figures.running, figures.waiting, figures.claiming, figures.attempts)
    return {
        **{count.value: figures.counts.get(count, 0) for count in COUNTS},
        "picked": figures.claimed,
        "ran": figures.ran,
        "runs": figures.runs,
        "spreads": as_json(spreads) if any(spreads) else None,
    }


def _figures(columns: Sequence[Any]) -> Figures:
    """From the columns, in the order in which the statements read them."""
    *counts, claimed, ran, packed = columns
    found = {count: number for count, number in zip(COUNTS, counts, strict=True) if number}
    running, waiting, claiming, attempts = _decode_spreads(packed) if packed is not None else ({}, {}, {}, {})
    return Figures(found, ran, running, waiting, claiming, attempts, claimed)


# Reading


def read_figures(read: p.ReadFigures) -> Steps[p.FigurePage]:
    [(now, *_)] = yield from run("read_clock")
    width = read.span * MICROSECONDS
    since, until = read.since - read.since % width, NEVER if read.until is None else read.until
    asked: dict[str, Any] = {"span": read.span, "since": since, "until": until}
    routes = {"type": read.type, "queue": read.queue, "capability": read.capability}
    rows: dict[tuple[int, Route], tuple[Figures, p.Depth | None]] = {}
    for at, type_, queue, capability, *columns in (yield from run("read_figures", **asked, **routes)):
        figures, depth = columns[: -len(DEPTHS)], columns[-len(DEPTHS) :]
        rows[at, Route(type_, queue, capability)] = _figures(figures), _depth(depth)
    tenants: dict[tuple[int, str], TenantFigures] = {}
    for at, org, completed, failed, ran in (yield from run("read_tenant_figures", **asked)):
        tenants[at, org] = TenantFigures(completed, failed, ran)
    for at, packed in (yield from run("unfolded_pages", since=since, until=until)):
        tally, start = _read(packed), at - at % width
        for route, figures_ in tally.routes.items():
            if all(given in (None, own) for given, own in zip(routes.values(), route, strict=True)):
                rows.setdefault((start, route), (Figures(), None))[0].add(figures_)
        for org, tenant in tally.tenants.items():
            tenants.setdefault((start, org), TenantFigures()).add(tenant)
    return p.FigurePage(
        [p.FigureRow(at=at, route=route, figures=one, depth=depth) for (at, route), (one, depth) in _in_order(rows)],
        [p.TenantRow(at=at, org=org, figures=one) for (at, org), one in _in_order(tenants)],
        now,
    )


def _in_order(rows: Mapping[K, T]) -> list[tuple[K, T]]:
    return sorted(rows.items(), key=_key)


def _depth(columns: Sequence[int | None]) -> p.Depth | None:
    numbers = {name: number for name, number in zip(DEPTHS, columns, strict=True) if number is not None}
    return p.Depth(**numbers) if numbers else None


# Samples


def count_gauges() -> Steps[p.CountedGauges]:
    [(now, *_)] = yield from run("read_clock")
    gauges = [_counted(*row) for row in (yield from run("count_gauges"))]
    return p.CountedGauges(now, gauges)


def _counted(type: str, queue: str, capability: str, *columns: Any) -> p.Gauge:
    *numbers, oldest = columns
    depth = p.Depth(**{name: number or 0 for name, number in zip(DEPTHS, numbers, strict=True)})
    return p.Gauge(route=Route(type, queue, capability), depth=depth, oldest_due_at=oldest)


def count_ended() -> Steps[p.Ended]:
    states = {StateCode(state).name.lower(): jobs for state, jobs in (yield from run("count_ended"))}
    return p.Ended(**states)


def store_sample(store: p.StoreSample) -> Steps[None]:
    yield from check_term(store.term)
    yield from run("store_gauges", rows=as_json([_gauge_row(gauge) for gauge in store.gauges]))
    ended = msgspec.structs.asdict(store.ended) if store.ended else dict.fromkeys(p.Ended.__struct_fields__)
    took = int(store.seconds * MICROSECONDS)
    yield from run("store_sample", at=store.at, took=took, **ended)
    if store.history:
        yield from run("keep_depths", at=store.at, spans=list(SPANS))


def _gauge_row(gauge: p.Gauge) -> dict[str, Any]:
    return {
        **gauge.route._asdict(),
        **msgspec.structs.asdict(gauge.depth),
        "oldest_due_at": gauge.oldest_due_at,
        "workers": gauge.workers,
        "slots": gauge.slots,
    }


def read_sample() -> Steps[p.Sample | None]:
    found = yield from run("read_sample")
    if not found:
        return None
    [(at, took, *ended)] = found
    rows: Rows = yield from run("read_gauges")
    gauges = [_sampled(*row) for row in rows]
    known = None if None in ended else p.Ended(**_named(p.Ended.__struct_fields__, ended))
    return p.Sample(at=at, seconds=took / MICROSECONDS, gauges=gauges, ended=known)


def _sampled(type: str, queue: str, capability: str, *columns: Any) -> p.Gauge:
    *numbers, oldest, workers, slots = columns
    return p.Gauge(
        route=Route(type, queue, capability), depth=p.Depth(**_named(DEPTHS, numbers)), oldest_due_at=oldest,
        workers=workers, slots=slots,
    )  # fmt: skip


def _named(names: Sequence[str], values: Sequence[int]) -> dict[str, int]:
    return dict(zip(names, values, strict=True))


def read_capacity() -> Steps[list[p.CapacityRow]]:
    names = p.CapacityRow.__struct_fields__
    rows = yield from run("read_capacity")
    return [p.CapacityRow(**dict(zip(names, row, strict=True))) for row in rows]
