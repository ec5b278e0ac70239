"""The sandbox's store: a real one, and a record of everything that was enqueued through it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from penstock.client.steps import Steps, StepsCall, awaited, waited
from penstock.domain.clock import Clock
from penstock.domain.current_call import running
from penstock.domain.errors import ResultTimeout
from penstock.domain.job import Job
from penstock.store.call import Call
from penstock.store.contract import (
    ChangeSchedules,
    Enqueued,
    EnqueueJobs,
    EnqueueWorkflow,
    Finished,
    FinishJobs,
    HeartbeatWorker,
    NewJob,
    Registered,
    RegisterWorker,
    SchedulesChanged,
    SqlStore,
    Transaction,
)
from penstock.testing.patient import patient_changes, patient_enqueue, patient_finish, patient_workflow
from penstock.testing.record import EnqueuedJob, record

PATIENCE_SECONDS = 5.0
POLL_SECONDS_MAX = 1.0


class WatchedStore:
    """Hands every call on to the store, and sees each enqueue on its way: plain, in a transaction, as a follow-up."""

    def __init__(self, store: SqlStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._joined: dict[int, list[EnqueuedJob]] = {}
        self._workers: set[int] = set()
        self._waiting: tuple[int | None, float, float] = (-1, 0.0, 0.0)
        self.enqueued: list[EnqueuedJob] = []
        self.inline: Call[None] | None = None
        """Runs what was just enqueued, before the enqueue returns."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    # Enqueues

    def enqueue_jobs(self, params: EnqueueJobs) -> Call[list[Enqueued]]:
        return StepsCall(self._enqueue(patient_enqueue(params)))

    def _enqueue(self, params: EnqueueJobs) -> Steps[list[Enqueued]]:
        stored: list[Enqueued] = yield self._store.enqueue_jobs(params)
        new = [self._record(job) for job, answer in zip(params.jobs, stored, strict=True) if answer.created]
        if self._note(params.transaction, new):
            yield from self._run_inline(new)
        return stored

    def change_schedules(self, params: ChangeSchedules) -> Call[SchedulesChanged]:
        return StepsCall(self._change(patient_changes(params)))

    def _change(self, params: ChangeSchedules) -> Steps[SchedulesChanged]:
        changed: SchedulesChanged = yield self._store.change_schedules(params)
        jobs = [job for change in params.changes if change.name in changed.last for job in change.jobs]
        new = yield from self._stored(jobs)
        yield from self._run_inline(new)
        return changed

    def _record(self, job: NewJob) -> EnqueuedJob:
        return record(job, self._clock.now_us())

    def _note(self, transaction: object | None, new: list[EnqueuedJob]) -> bool:
        """What was really stored. True if it is there now; in a transaction it is there after the commit."""
        joined = self._joined.get(id(transaction))
        (self.enqueued if joined is None else joined).extend(new)
        return joined is None

    def _stored(self, jobs: Iterable[NewJob]) -> Steps[list[EnqueuedJob]]:
        """Those that are there: not one whose unique key is held, nor a follow-up of an attempt that was lost."""
        new = []
        for job in jobs:
            found: Job | None = yield self._store.read_job(job.id)
            if found is not None:
                new.append(self._record(job))
        self.enqueued += new
        return new

    def _run_inline(self, new: list[EnqueuedJob]) -> Steps[None]:
        if new and self.inline is not None:
            yield self.inline

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._store.transaction() as tx:
            joined = self._joined[id(tx)] = []
            try:
                yield tx
            finally:
                del self._joined[id(tx)]
        self.enqueued += joined
        waited(self._run_inline(joined))

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator[Transaction]:
        async with self._store.atransaction() as tx:
            joined = self._joined[id(tx)] = []
            try:
                yield tx
            finally:
                del self._joined[id(tx)]
        self.enqueued += joined
        await awaited(self._run_inline(joined))

    def enqueue_workflow(self, params: EnqueueWorkflow) -> Any:
        return self._store.enqueue_workflow(patient_workflow(params))

    def finish_jobs(self, params: FinishJobs) -> Call[Finished]:
        return StepsCall(self._finish(patient_finish(params)))

    def _finish(self, params: FinishJobs) -> Steps[Finished]:
        told: Finished = yield self._store.finish_jobs(params)
        if params.transaction is None:
            yield from self._stored(job for _, job in params.follow_ups)
        else:  # The handler's own: they are there after its commit.
            new = [self._record(job) for token, job in params.follow_ups if token not in told.lost]
            self._note(params.transaction, new)
        return told

    # Waiting for results

    async def register_worker(self, params: RegisterWorker) -> Registered:
        registered = await self._store.register_worker(params)
        self._workers.add(registered.session)
        return registered

    def heartbeat_worker(self, params: HeartbeatWorker) -> Any:
        if params.status == "inactive":
            self._workers.discard(params.session)
        return self._store.heartbeat_worker(params)

    def version(self) -> int | None:
        """What those who wait for a result look at again and again: in vain, if nobody can run the job."""
        version, now = self._store.version(), time.monotonic()
        seen, since, asked = self._waiting
        if version != seen or now - asked > POLL_SECONDS_MAX or self._workers:
            since = now
        self._waiting = version, since, now
        if now - since > PATIENCE_SECONDS:
            raise ResultTimeout(_NOBODY)
        return version


_NOBODY = (
    f"nothing has run any job of this sandbox for {PATIENCE_SECONDS:.0f} s, so there is no result to wait for: "
    "call run() or arun() first, or enqueue inside `with jobs.inline():`"
)


def in_handler() -> bool:
    """Whether the caller is a handler, or something below one."""
    return running.get(None) is not None
