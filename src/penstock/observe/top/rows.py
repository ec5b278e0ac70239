"""The rows that are shown: types or queues with their work, tenants with theirs, workers with their slots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from penstock.domain.figures.series import Count, total
from penstock.observe.stuck import takers_among
from penstock.observe.top.look import Look
from penstock.observe.top.tenants import TenantWork as TenantWork, tenants
from penstock.observe.top.work import Work as Work, works
from penstock.store.contract import Depth, WorkerInfo

By = Literal["type", "queue", "tenant", "worker"]


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
            return tenants(look)
        case "worker":
            return [_load(worker) for worker in look.workers if _is_there(worker)]
        case _:
            return works(look, by)


def _is_there(worker: WorkerInfo) -> bool:
    """Also one that is overdue or failing, whose slots are missing; not one that only coordinates, which has none."""
    return not worker.coordinates and (worker.status in ("active", "draining") or worker.failing)


def _load(worker: WorkerInfo) -> WorkerLoad:
    status = "stale" if worker.stale else "failing" if worker.failing else worker.status
    return WorkerLoad(
        name=worker.id, host=worker.host, status=status, jobs=worker.jobs, slots=worker.slots,
        silent_seconds=max(0.0, worker.silent),
    )  # fmt: skip


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
