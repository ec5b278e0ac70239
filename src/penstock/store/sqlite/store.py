"""The contract on SQLite: every method is one operation, handed to the writer or carried out on the reader."""

from __future__ import annotations

import os
import random as random_module
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Generic, TypeVar

import apsw
import msgspec

from penstock.domain.clock import Clock, SystemClock
from penstock.domain.errors import StoreClosed, StoreMissing, UsageError
from penstock.domain.gates import Limit
from penstock.domain.job import Job, Transition
from penstock.domain.options import Options
from penstock.domain.pauses import Pause
from penstock.domain.workflows import WorkflowInfo
from penstock.store import params as p, workflows
from penstock.store.call import Call
from penstock.store.contract import Transaction
from penstock.store.sqlite import (
    check,
    claim,
    connection,
    coordinate,
    enqueue,
    finish,
    flow,
    operate,
    read,
    schedules,
    workers,
)
from penstock.store.sqlite.doorbell import DoorbellListener
from penstock.store.sqlite.file import OpenFile
from penstock.store.sqlite.place import is_there
from penstock.store.sqlite.statements import migrations, sql
from penstock.store.sqlite.still import read_still
from penstock.store.sqlite.transaction import TransactionBlock, accept, atransaction
from penstock.store.sqlite.tx import Tx, as_json
from penstock.store.sqlite.workflows import carry_out, look
from penstock.store.sqlite.writer import Operation, WriteCall, Writer
from penstock.store.transactions import CLOSED_INSIDE, is_inside

T = TypeVar("T")


def _enqueue_whole(jobs: Sequence[p.NewJob], whole: p.WholeKey) -> Operation[list[p.Enqueued]]:
    return lambda tx: enqueue.enqueue_whole(tx, jobs, whole)


class ReadCall(Generic[T]):
    """A read: in the caller's thread, or in a thread of its own for async callers."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read

    def wait(self) -> T:
        return self._read()

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio

        return (yield from asyncio.to_thread(self._read).__await__())


class SqliteStore:
    """A job store in one SQLite file. Opened at first use; many processes may use the same file."""

    def __init__(
        self,
        path: str,
        *,
        synchronous: connection.Synchronous = "full",
        create: bool = True,
        clock: Clock | None = None,
        random: Callable[[], float] = random_module.random,
        vfs: str | None = None,
    ) -> None:
        self.path = os.path.abspath(path)
        self._synchronous = synchronous
        self._create = create
        self._clock = clock or SystemClock()
        self._random = random
        self._vfs = vfs
        self._opening = threading.Lock()
        self._open: tuple[OpenFile, Writer] | None = None
        self._closed = False

    # Opening

    def _file(self) -> OpenFile:
        return self._opened()[0]

    def _writer(self) -> Writer:
        file, writer = self._opened()
        file.check_process()
        return writer

    def _opened(self) -> tuple[OpenFile, Writer]:
        if self._open is not None:
            return self._open
        with self._opening:
            if self._closed:
                raise StoreClosed(f"{self.path}: this store was closed; make a new App to use it again")
            if self._open is None:
                self._refuse_missing()
                file = OpenFile(self.path, self._synchronous, self._vfs, self._clock, self._random)
                _open_files.add(file)
                self._open = file, Writer(file, file.gate)
            return self._open

    def _refuse_missing(self) -> None:
        if not self._create and not is_there(self.path):
            raise StoreMissing(
                f"there is no store at {self.path}; check the path (it is relative to the current folder), "
                f"or make one with: penstock migrate --store sqlite:///{self.path}"
            )

    def close(self) -> None:
        if is_inside(self.path):
            raise UsageError(CLOSED_INSIDE)
        with self._opening:
            self._closed = True
            if self._open is None:
                return
            (file, writer), self._open = self._open, None
        if file.pid == os.getpid():
            writer.close()
            file.close()

    def _write(self, operation: Operation[T], durable: bool = True) -> WriteCall[T]:
        return WriteCall(self._writer, operation, durable)

    def _read(self, query: Callable[[apsw.Connection, int], T]) -> ReadCall[T]:
        return ReadCall(lambda: self._look(query))

    def _look(self, query: Callable[[apsw.Connection, int], T]) -> T:
        if self._open is None and not self._create and not self._closed:  # A command, which may only look at a backup.
            self._refuse_missing()
            found = read_still(self.path, self._vfs, query, self._clock.now_us())
            if found is not None:
                return found[0]
        answer: T = self._file().read(query)
        return answer

    # Enqueue

    def enqueue_jobs(self, params: p.EnqueueJobs) -> Call[list[p.Enqueued]]:
        operation = enqueue.Enqueue(params.jobs) if params.whole is None else _enqueue_whole(params.jobs, params.whole)
        if params.transaction is not None:
            joined = accept(params.transaction, self.path)
            return ReadCall(lambda: joined.join(operation))
        return self._write(operation)

    def transaction(self) -> AbstractContextManager[Transaction]:
        return TransactionBlock(self._file())

    def atransaction(self) -> AbstractAsyncContextManager[Transaction]:
        return atransaction(self._file())

    # Claim, run, finish

    def claim_jobs(self, params: p.ClaimJobs) -> Call[p.Claimed]:
        return self._write(lambda tx: claim.claim_jobs(tx, params), durable=False)

    def start_jobs(self, params: p.StartJobs) -> Call[list[int]]:
        return self._write(lambda tx: finish.start_jobs(tx, params), durable=False)

    def finish_jobs(self, params: p.FinishJobs) -> Call[list[int]]:
        if params.transaction is not None:
            joined = accept(params.transaction, self.path)
            return ReadCall(lambda: joined.join(lambda tx: finish.finish_jobs(tx, params)))
        return self._write(lambda tx: finish.finish_jobs(tx, params))

    def save_progress(self, params: p.SaveProgress) -> Call[list[int]]:
        return self._write(lambda tx: finish.save_progress(tx, params), durable=False)

    def begin_once(self, params: p.BeginOnce) -> Call[p.Once]:
        return self._write(lambda tx: coordinate.begin_once(tx, params))

    def end_once(self, params: p.EndOnce) -> Call[bool]:
        return self._write(lambda tx: coordinate.end_once(tx, params))

    # Workers

    def register_worker(self, params: p.RegisterWorker) -> Call[int]:
        return self._write(lambda tx: workers.register_worker(tx, params))

    def heartbeat_worker(self, params: p.HeartbeatWorker) -> Call[p.Heartbeat]:
        return self._write(lambda tx: workers.heartbeat_worker(tx, params), durable=False)

    def read_signals(self, params: p.ReadSignals) -> Call[p.Signals]:
        tokens = as_json(list(params.tokens))

        def query(db: apsw.Connection, now: int) -> p.Signals:
            cancelled, lost = (
                msgspec.json.decode(db.execute(sql(name), {"tokens": tokens}).get)
                for name in ("cancelled_tokens", "lost_tokens")
            )
            told = db.execute(sql("worker_orders"), {"session": params.session}).get
            return p.Signals(cancelled, lost, *(told or ()))

        return self._read(query)

    def recover_jobs(self, params: p.RecoverJobs) -> Call[p.Recovered]:
        asked_at = self._clock.now_us()
        return self._write(lambda tx: workers.recover_jobs(tx, params, asked_at))

    def lead_store(self, params: p.LeadStore) -> Call[p.Leadership]:
        return self._write(lambda tx: coordinate.lead_store(tx, params), durable=False)

    def give_back_jobs(self, params: p.GiveBackJobs) -> Call[p.GivenBack]:
        return self._write(lambda tx: coordinate.give_back_jobs(tx, params))

    def expire_jobs(self, params: p.ExpireJobs) -> Call[None]:
        return self._write(lambda tx: coordinate.expire_jobs(tx, params))

    def age_jobs(self, params: p.AgeJobs) -> Call[int]:
        return self._write(lambda tx: coordinate.age_jobs(tx, params))

    def fail_unroutable(self, params: p.FailUnroutable) -> Call[list[str]]:
        return self._write(lambda tx: coordinate.fail_unroutable(tx, params))

    def tend_gates(self, params: p.TendGates) -> Call[None]:
        return self._write(lambda tx: coordinate.tend_gates(tx, params), durable=False)

    def mark_workers(self, params: p.MarkWorkers) -> Call[None]:
        return self._write(lambda tx: coordinate.mark_workers(tx, params), durable=False)

    def list_workers(self) -> Call[list[p.WorkerInfo]]:
        return self._read(workers.list_workers)

    def read_types(self) -> Call[dict[str, Options]]:
        return self._read(read.read_types)

    def read_limits(self) -> Call[list[Limit]]:
        return self._read(read.read_limits)

    def listen(self, poll_interval: float) -> DoorbellListener:
        return DoorbellListener(self._file(), poll_interval)

    # Seeing

    def read_job(self, job_id: str) -> Call[Job | None]:
        return self._read(lambda db, now: read.read_job(db, now, job_id))

    def list_jobs(self, params: p.ListJobs) -> Call[list[Job]]:
        return self._read(lambda db, now: read.list_jobs(db, now, params))

    def count_jobs(self, params: p.CountJobs = p.ALL_JOBS) -> Call[list[p.Count]]:
        return self._read(lambda db, now: read.count_jobs(db, now, params))

    def count_queues(self) -> Call[int]:
        return self._read(lambda db, now: read.count_queues(db))

    def count_waiting(self, params: p.CountWaiting) -> Call[list[p.Waiting]]:
        return self._read(lambda db, now: read.count_waiting(db, now, params))

    def read_history(self, job_id: str) -> Call[list[Transition]]:
        return self._read(lambda db, now: read.read_history(db, job_id))

    def version(self) -> int:
        return self._file().version()

    # Operating

    def cancel_job(self, params: p.CancelJob) -> Call[p.Cancelled]:
        return self._write(lambda tx: operate.cancel_job(tx, params))

    def pause_work(self, params: p.PauseWork) -> Call[list[p.Switched]]:
        return self._write(lambda tx: flow.pause_work(tx, params))

    def resume_work(self, params: p.ResumeWork) -> Call[list[p.Switched]]:
        return self._write(lambda tx: flow.resume_work(tx, params))

    def list_pauses(self) -> Call[list[Pause]]:
        return self._read(flow.list_pauses)

    def count_open(self) -> Call[list[p.OpenJobs]]:
        return self._read(flow.count_open)

    def drain_worker(self, params: p.DrainWorker) -> Call[bool]:
        return self._write(lambda tx: flow.drain_worker(tx, params))

    def resize_worker(self, params: p.ResizeWorker) -> Call[int]:
        return self._write(lambda tx: flow.resize_worker(tx, params))

    def list_dead(self, params: p.ListDead) -> Call[p.DeadPage]:
        return self._read(lambda db, now: read.list_dead(db, now, params))

    def retry_dead(self, params: p.RetryDead) -> Call[list[tuple[str, str]]]:
        return self._write(lambda tx: operate.retry_dead(tx, params))

    def purge_dead(self, params: p.PurgeDead) -> Call[int]:
        return self._write(lambda tx: operate.purge_dead(tx, params))

    def prune_jobs(self, params: p.PruneJobs) -> Call[int]:
        return self._write(lambda tx: operate.prune_jobs(tx, params))

    # Workflows

    def enqueue_workflow(self, params: p.EnqueueWorkflow) -> Call[bool]:
        def operation(tx: Tx) -> bool:
            return carry_out(tx, workflows.add(params.workflow))

        if params.transaction is not None:
            joined = accept(params.transaction, self.path)
            return ReadCall(lambda: joined.join(operation))
        return self._write(operation)

    def read_workflow(self, workflow_id: str) -> Call[WorkflowInfo | None]:
        return self._read(lambda db, now: look(db, now, workflows.read(workflow_id)))

    def list_workflows(self, params: p.ListWorkflows) -> Call[list[WorkflowInfo]]:
        return self._read(lambda db, now: look(db, now, workflows.list_all(params)))

    def read_results(self, params: p.ReadResults) -> Call[list[p.StepResult]]:
        return self._read(lambda db, now: look(db, now, workflows.results(params)))

    def cancel_workflow(self, params: p.CancelWorkflow) -> Call[p.WorkflowCancelled]:
        return self._write(lambda tx: carry_out(tx, workflows.cancel(params), operate.cancel_job))

    def retry_workflow(self, params: p.RetryWorkflow) -> Call[int]:
        return self._write(lambda tx: carry_out(tx, workflows.retry(params)))

    def settle_workflows(self, params: p.SettleWorkflows) -> Call[int]:
        return self._write(lambda tx: coordinate.settle_workflows(tx, params))

    # Schedules

    def read_schedules(self, params: p.ReadSchedules) -> Call[p.Schedules]:
        return self._read(lambda db, now: schedules.read_schedules(db, now, params))

    def due_schedules(self, params: p.DueSchedules) -> Call[p.Schedules]:
        return self._read(lambda db, now: schedules.due_schedules(db, now, params))

    def change_schedules(self, params: p.ChangeSchedules) -> Call[dict[str, str | None]]:
        return self._write(lambda tx: schedules.change_schedules(tx, params))

    # The store itself

    @property
    def address(self) -> str:
        return self.path

    @property
    def info(self) -> p.StoreInfo:
        return p.StoreInfo(
            engine="sqlite",
            address=self.path,
            library=f"SQLite {apsw.sqlite_lib_version()}, apsw {apsw.apsw_version()}",
            durability=_DURABILITY[self._synchronous],
            schema_version=self._look(lambda db, _: connection.schema_status(db, self.path).current),
        )

    def read_clock(self) -> Call[int]:
        return self._read(read.read_clock)

    def check_store(self, params: p.CheckStore) -> Call[list[p.Finding]]:
        return ReadCall(lambda: check.check_store(self.path, _DURABILITY[self._synchronous], self._vfs, params.deep))

    def migration_status(self) -> p.MigrationStatus:
        if not is_there(self.path):
            known = migrations()
            return p.MigrationStatus(0, known[-1][0], [name for _, name, _ in known])
        return connection.look(self.path, self._vfs)

    def migration_sql(self) -> str:
        return connection.migration_script(self.migration_status().current)

    def migrate(self) -> p.MigrationStatus:
        connection.undo_cut_off(self.path, self._vfs)
        before = self.migration_status()
        self._create = True
        self._file()
        return before


_DURABILITY = {
    "full": "WAL, synchronous=FULL: every commit is on disk before the call returns; survives power loss",
    "normal": "WAL, synchronous=NORMAL: survives a crash of the process; power loss may drop the newest commits",
}

_open_files: weakref.WeakSet[OpenFile] = weakref.WeakSet()


def _abandon_in_child() -> None:
    for file in list(_open_files):
        file.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)
