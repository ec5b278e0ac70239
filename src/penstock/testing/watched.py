"""The sandbox's store: a real one, and a record of everything that was enqueued through it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Protocol

from penstock.domain.clock import Clock
from penstock.domain.errors import ResultTimeout
from penstock.domain.job import Job
from penstock.domain.running import running
from penstock.store.contract import Store, Transaction
from penstock.store.params import (
    ChangeSchedules,
    Enqueued,
    EnqueueJobs,
    EnqueueWorkflow,
    FinishJobs,
    HeartbeatWorker,
    NewJob,
    RegisterWorker,
)
from penstock.testing.patient import patient_changes, patient_enqueue, patient_finish, patient_workflow
from penstock.testing.record import EnqueuedJob, record

PATIENCE_SECONDS = 5.0
POLL_SECONDS_MAX = 1.0


class Inline(Protocol):
    """Runs what was just enqueued, before the enqueue returns."""

    def run_inline(self) -> None: ...
    async def arun_inline(self) -> None: ...


class WatchedStore:
    """Hands every call on to the store, and sees each enqueue on its way: plain, in a transaction, as a follow-up."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._joined: dict[int, list[EnqueuedJob]] = {}
        self._workers: set[int] = set()
        self._waiting: tuple[int | None, float, float] = (-1, 0.0, 0.0)
        self.enqueued: list[EnqueuedJob] = []
        self.inline: Inline | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    # Enqueues

    def enqueue_jobs(self, params: EnqueueJobs) -> EnqueueCall:
        return EnqueueCall(self, self._store, patient_enqueue(params))

    def note(self, params: EnqueueJobs, stored: Sequence[Enqueued]) -> bool:
        """Record what was really stored. True if it is there now; in a transaction it is there after the commit."""
        new = [job for job, answer in zip(params.jobs, stored, strict=True) if answer.created]
        records = [record(job, self._clock.now_us()) for job in new]
        joined = self._joined.get(id(params.transaction))
        (self.enqueued if joined is None else joined).extend(records)
        return joined is None and bool(records)

    def change_schedules(self, params: ChangeSchedules) -> ChangeCall:
        return ChangeCall(self, self._store, patient_changes(params))

    def note_fired(self, job: NewJob, found: Job | None) -> bool:
        """Record a job of a schedule. False if it was not stored, because another holds its unique key."""
        if found is not None:
            self.enqueued.append(record(job, self._clock.now_us()))
        return found is not None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._store.transaction() as tx:
            joined = self._joined[id(tx)] = []
            try:
                yield tx
            finally:
                del self._joined[id(tx)]
        self.enqueued += joined
        if joined and self.inline is not None:
            self.inline.run_inline()

    @asynccontextmanager
    async def atransaction(self) -> AsyncIterator[Transaction]:
        async with self._store.atransaction() as tx:
            joined = self._joined[id(tx)] = []
            try:
                yield tx
            finally:
                del self._joined[id(tx)]
        self.enqueued += joined
        if joined and self.inline is not None:
            await self.inline.arun_inline()

    def enqueue_workflow(self, params: EnqueueWorkflow) -> Any:
        return self._store.enqueue_workflow(patient_workflow(params))

    def finish_jobs(self, params: FinishJobs) -> Any:
        params = patient_finish(params)
        return self._finish(params) if params.transaction is None else FinishCall(self, self._store, params)

    async def _finish(self, params: FinishJobs) -> list[int]:
        lost = await self._store.finish_jobs(params)
        for _, job in params.follow_ups:
            await self._note_follow_up(job)
        return lost

    def note_joined(self, params: FinishJobs, lost: list[int]) -> None:
        """Follow-ups in a handler's own transaction: they are there after its commit."""
        new = [record(job, self._clock.now_us()) for token, job in params.follow_ups if token not in lost]
        self._joined.get(id(params.transaction), self.enqueued).extend(new)

    async def _note_follow_up(self, job: NewJob) -> None:
        """A follow-up of an attempt that was lost or cancelled is not stored."""
        if await self._store.read_job(job.id) is not None:
            self.enqueued.append(record(job, self._clock.now_us()))

    # Waiting for results

    async def register_worker(self, params: RegisterWorker) -> int:
        session = await self._store.register_worker(params)
        self._workers.add(session)
        return session

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


class EnqueueCall:
    """An enqueue with both faces of a store's call."""

    def __init__(self, watched: WatchedStore, store: Store, params: EnqueueJobs) -> None:
        self._watched = watched
        self._call = store.enqueue_jobs(params)
        self._params = params

    def wait(self) -> list[Enqueued]:
        stored = self._call.wait()
        if self._watched.note(self._params, stored) and self._watched.inline is not None:
            self._watched.inline.run_inline()
        return stored

    async def _enqueue(self) -> list[Enqueued]:
        stored = await self._call
        if self._watched.note(self._params, stored) and self._watched.inline is not None:
            await self._watched.inline.arun_inline()
        return stored

    def __await__(self) -> Generator[Any, None, list[Enqueued]]:
        return self._enqueue().__await__()


class ChangeCall:
    """A change of schedules with both faces of a store's call."""

    def __init__(self, watched: WatchedStore, store: Store, params: ChangeSchedules) -> None:
        self._watched = watched
        self._store = store
        self._call = store.change_schedules(params)
        self._changes = params.changes

    def wait(self) -> dict[str, str | None]:
        stored = self._call.wait()
        new = [self._watched.note_fired(job, self._store.read_job(job.id).wait()) for job in self._jobs(stored)]
        if any(new) and self._watched.inline is not None:
            self._watched.inline.run_inline()
        return stored

    async def _change(self) -> dict[str, str | None]:
        stored = await self._call
        new = [self._watched.note_fired(job, await self._store.read_job(job.id)) for job in self._jobs(stored)]
        if any(new) and self._watched.inline is not None:
            await self._watched.inline.arun_inline()
        return stored

    def _jobs(self, stored: Mapping[str, str | None]) -> list[NewJob]:
        return [job for change in self._changes if change.name in stored for job in change.jobs]

    def __await__(self) -> Generator[Any, None, dict[str, str | None]]:
        return self._change().__await__()


class FinishCall:
    """A completion in a handler's own transaction, with both faces of a store's call."""

    def __init__(self, watched: WatchedStore, store: Store, params: FinishJobs) -> None:
        self._watched = watched
        self._call = store.finish_jobs(params)
        self._params = params

    def wait(self) -> list[int]:
        return self._noted(self._call.wait())

    async def _finish(self) -> list[int]:
        return self._noted(await self._call)

    def __await__(self) -> Generator[Any, None, list[int]]:
        return self._finish().__await__()

    def _noted(self, lost: list[int]) -> list[int]:
        self._watched.note_joined(self._params, lost)
        return lost
