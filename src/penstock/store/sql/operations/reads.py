"""Looking: jobs, which each engine finds its own way, their counts and history; workers, and the clock."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.ids import check_id, is_id
from penstock.domain.job import Job, Transition
from penstock.domain.options import Resources
from penstock.store import contract as p
from penstock.store.sql.operations.planned import counts_of, list_planned, page_of, read_planned
from penstock.store.sql.rows import WORKERS_LISTED, JobColumns, make_job, make_transition, make_waiting
from penstock.store.sql.steps import Rows, Steps, run, value
from penstock.store.sql.unreadable import readable_jobs
from penstock.store.sql.unroutable import read_offer, read_status

OPEN = ("pending", "scheduled", "retrying", "running", "blocked")
"""In the order in which the statements count them."""


class Pages(Protocol):
    """Where an engine finds jobs: statements whose texts are made of fixed parts, as operations.

    A row of a job is its JobColumns, and the moment at which it was read.
    """

    def job(self, job_id: str) -> Steps[Rows]:
        """The one with this id, if it is there."""
        ...

    def jobs(self, asked: p.ListJobs) -> Steps[Rows]:
        """A page of those that are stored, in the order that was asked for."""
        ...

    def dead(self, asked: p.ListDead) -> Steps[tuple[Rows, int]]:
        """A page of dead letters, the last to end first, and how many match."""
        ...

    def counts(self, asked: p.CountJobs) -> Steps[Rows]:
        """As planned.counts_of() takes them."""
        ...


# Jobs


def read_job(pages: Pages, job_id: str) -> Steps[Job | None]:
    """A job that is stored, or only planned by a workflow."""
    if not is_id(job_id):
        return None
    rows = yield from pages.job(job_id)
    return _job(rows[0]) if rows else (yield from read_planned(job_id))


def list_jobs(pages: Pages, asked: p.ListJobs) -> Steps[list[Job]]:
    if asked.before is not None:
        asked = msgspec.structs.replace(asked, before=check_id(asked.before))
    planned = yield from list_planned(asked)
    stored = readable_jobs((yield from pages.jobs(asked)), _job)
    return page_of(stored, planned, asked.limit) if planned else stored


def list_dead(pages: Pages, asked: p.ListDead) -> Steps[p.DeadPage]:
    rows, total = yield from pages.dead(asked)
    return p.DeadPage(readable_jobs(rows, _job), total)


def read_history(job_id: str) -> Steps[list[Transition]]:
    rows = (yield from run("read_history", id=job_id)) if is_id(job_id) else []
    return [make_transition(job_id, *row) for row in rows]


def _job(row: tuple[Any, ...]) -> Job:
    *columns, now = row
    return make_job(JobColumns(*columns), now)


# Counts


def count_jobs(pages: Pages, asked: p.CountJobs) -> Steps[list[p.Count]]:
    return counts_of((yield from pages.counts(asked)), asked)


def count_queues() -> Steps[int]:
    return int((yield from value("count_queues")))


def count_waiting(asked: p.CountWaiting) -> Steps[list[p.Waiting]]:
    return [make_waiting(*row) for row in (yield from run("count_waiting", limit=asked.limit))]


def count_dead(asked: p.CountDead) -> Steps[int]:
    return int((yield from value("count_dead_up_to", limit=asked.limit)))


def count_open() -> Steps[list[p.OpenJobs]]:
    return [_make_open(*row) for row in (yield from run("count_open"))]


def _make_open(type: str, queue: str, *sums: int | None) -> p.OpenJobs:
    """From the sums of the engines, which are empty where there is nothing to sum."""
    *counts, oldest = sums
    numbers = {name: count or 0 for name, count in zip(OPEN, counts, strict=True)}
    return p.OpenJobs(type=type, queue=queue, oldest_due_at=oldest, **numbers)


# Workers and the clock


def list_workers() -> Steps[list[p.WorkerInfo]]:
    return [_worker(*row) for row in (yield from run("list_workers", latest=WORKERS_LISTED))]


def _worker(
    session: int, id_: str, host: str, pid: int, version: str, status: str, slots: int, types: str,
    queues: str | None, capabilities: str, resources: str | None, started_at: int, heartbeat_at: int, silent: int,
    stale_after: int, jobs: int, health: str | None, failing: bool, unreached: bool, process: str | None,
    cpu: float, memory: int, gpu: float, app_version: str | None, slots_of: str | None,
) -> p.WorkerInfo:  # fmt: skip
    """Of one that cannot be read is shown what can be, since its jobs may have to be taken back."""
    offer = read_offer(id_, types, queues, capabilities, resources)
    return p.WorkerInfo(
        session=session,
        id=id_,
        host=host,
        pid=pid,
        version=version,
        status=read_status(id_, status),
        slots=slots,
        types=offer.types,
        queues=offer.queues,
        capabilities=offer.capabilities,
        resources=offer.resources,
        started_at=started_at,
        heartbeat_at=heartbeat_at,
        silent=silent / MICROSECONDS,
        stale_after=stale_after / MICROSECONDS,
        jobs=jobs,
        health=health,
        failing=bool(failing),
        unreached=bool(unreached),
        process=process,
        used=Resources(cpu, memory, gpu),
        app_version=app_version,
        slots_of=_slots_of(slots_of),
    )


def _slots_of(text: str | None) -> dict[str, int]:
    """What cannot be read is as if nothing had been said."""
    try:
        return {} if text is None else msgspec.json.decode(text, type=dict[str, int])
    except msgspec.MsgspecError:
        return {}


def read_signals(asked: p.ReadSignals) -> Steps[p.Signals]:
    rows = yield from run("read_signals", tokens=list(asked.tokens), session=asked.session)
    told = {token: lost for *_, token, lost in rows}
    return p.Signals(
        cancelled=[token for token in asked.tokens if token in told and not told[token]],
        lost=[token for token in asked.tokens if told.get(token)],
        status=rows[0][0],
        slots=rows[0][1],
    )


def read_clock() -> Steps[int]:
    return int((yield from value("read_clock")))
