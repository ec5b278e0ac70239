"""The rows that are shown: types or queues with their work, tenants with theirs, workers with their slots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, get_args

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.figures.series import Count, Figures, Route, TenantFigures, total
from penstock.observe.figures.points import Durations, durations_of
from penstock.observe.stuck import takers_among
from penstock.observe.top.look import Look
from penstock.observe.top.slots import Slots
from penstock.store.contract import Depth, Gauge, Sample, WorkerInfo

By = Literal["type", "queue", "tenant", "worker"]
BYS: tuple[By, ...] = get_args(By)

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


class TenantWork(msgspec.Struct, frozen=True, kw_only=True):
    """What was done for a tenant. `slots_busy` is how many slots its jobs have used, on average. What waits is not
    counted by tenant.
    """

    name: str
    completed_per_second: float
    failed_per_second: float
    failed_share: float | None
    slots_busy: float


class WorkerLoad(msgspec.Struct, frozen=True, kw_only=True):
    """A worker: how many jobs it has, also those that it has claimed ahead, and for how long it was not heard of. No
    figures: those are kept by what was done, and not by who did it.
    """

    name: str
    host: str
    status: str
    jobs: int
    slots: int
    silent_seconds: float


Row = Work | TenantWork | WorkerLoad


def rows_by(look: Look, by: By) -> Sequence[Row]:
    match by:
        case "tenant":
            return _tenants(look)
        case "worker":
            return [_load(worker) for worker in look.workers if _is_there(worker)]
        case _:
            slots = Slots(takers_among(look.workers))
            return [_work(look, slots, name, group) for name, group in _groups(look, by).items()]


# Types and queues


class Group:
    """What was found of some routes."""

    def __init__(self) -> None:
        self.figures: list[Figures] = []
        self.gauges: list[Gauge] = []
        self.unended_before = 0

    @property
    def routes(self) -> set[Route]:
        return {gauge.route for gauge in self.gauges}

    def depth(self, name: str) -> int:
        return sum(getattr(gauge.depth, name) for gauge in self.gauges)


def _groups(look: Look, by: str) -> dict[str, Group]:
    found: dict[str, Group] = {}

    def of(route: Route) -> Group:
        return found.setdefault(getattr(route, by), Group())

    for gauge in look.sample.gauges if look.sample else ():
        of(gauge.route).gauges.append(gauge)
    for row in look.page.rows:
        of(row.route).figures.append(row.figures)
    for gauge in look.before.gauges if look.before else ():
        of(gauge.route).unended_before += gauge.depth.unended
    return found


def _work(look: Look, slots: Slots, name: str, group: Group) -> Work:
    done = total(group.figures)
    completed, failed = done.counts.get(Count.COMPLETED, 0), done.counts.get(Count.FAILED, 0)
    oldest = min((gauge.oldest_due_at for gauge in group.gauges if gauge.oldest_due_at is not None), default=None)
    return Work(
        name=name, completed_per_second=completed / look.seconds, failed_per_second=failed / look.seconds,
        failed_share=_share(failed, completed), comes_per_second=comes(look, done, group.gauges, group.unended_before),
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


def _share(failed: int, completed: int) -> float | None:
    return failed / (failed + completed) if failed or completed else None


# Tenants


def _tenants(look: Look) -> list[TenantWork]:
    found: dict[str, TenantFigures] = {}
    for row in look.page.tenants:
        found.setdefault(row.org, TenantFigures()).add(row.figures)
    return [
        TenantWork(
            name=org, completed_per_second=one.completed / look.seconds, failed_per_second=one.failed / look.seconds,
            failed_share=_share(one.failed, one.completed), slots_busy=one.ran / look.seconds,
        )
        for org, one in found.items()
    ]  # fmt: skip


# Workers


def _is_there(worker: WorkerInfo) -> bool:
    """Also one that is overdue or failing, whose slots are missing; not one that only coordinates, which has none."""
    return not worker.coordinates and (worker.status in ("active", "draining") or worker.failing)


def _load(worker: WorkerInfo) -> WorkerLoad:
    status = "stale" if worker.stale else "failing" if worker.failing else worker.status
    return WorkerLoad(
        name=worker.id, host=worker.host, status=status, jobs=worker.jobs, slots=worker.slots,
        silent_seconds=max(0.0, worker.silent),
    )  # fmt: skip


# All together


class Sum(msgspec.Struct, frozen=True, kw_only=True):
    """The whole store in one row."""

    completed_per_second: float
    failed_per_second: float
    pending: int
    scheduled: int
    running: int
    slots: int
    workers: int


def summed(look: Look) -> Sum:
    done = total(row.figures for row in look.page.rows)
    depths = [gauge.depth for gauge in look.sample.gauges] if look.sample else [Depth()]
    takers = takers_among(look.workers)
    return Sum(
        completed_per_second=done.counts.get(Count.COMPLETED, 0) / look.seconds,
        failed_per_second=done.counts.get(Count.FAILED, 0) / look.seconds,
        pending=sum(depth.pending for depth in depths), scheduled=sum(depth.scheduled for depth in depths),
        running=sum(depth.running for depth in depths),
        slots=sum(worker.slots for worker in takers), workers=len(takers),
    )  # fmt: skip
