"""The contract on SQLite: every method is one operation, handed to the writer or carried out on the reader."""

from __future__ import annotations

import os
import random as random_module
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TypeVar

import apsw

from penstock.domain.clock import Clock
from penstock.domain.errors import StoreClosed, StoreMissing, UsageError
from penstock.domain.job import Event
from penstock.store import contract as p
from penstock.store.call import Call, ThreadCall
from penstock.store.contract import Transaction
from penstock.store.sql.engine import Engine
from penstock.store.sql.operations import duties, once, reads, workers
from penstock.store.sql.operations.figures import booked
from penstock.store.sql.steps import Steps
from penstock.store.sql.store import AlikeOnEngines
from penstock.store.sql.workflows import advancing
from penstock.store.sqlite import check
from penstock.store.sqlite.connection import opening as connection
from penstock.store.sqlite.connection.doorbell import DoorbellListener
from penstock.store.sqlite.connection.file import OpenFile
from penstock.store.sqlite.connection.place import is_there, room_of
from penstock.store.sqlite.connection.statements import migrations
from penstock.store.sqlite.connection.still import read_still
from penstock.store.sqlite.connection.transaction import TransactionBlock, accept, atransaction
from penstock.store.sqlite.connection.tx import Tx, look
from penstock.store.sqlite.connection.writer import Operation, WriteCall, Writer
from penstock.store.sqlite.engine import SqliteEngine
from penstock.store.sqlite.hot import claim, enqueue, finish
from penstock.store.sqlite.pages import PAGES
from penstock.store.transactions import CLOSED_INSIDE, is_inside
from penstock.system.clock import SystemClock

T = TypeVar("T")


class SqliteStore(AlikeOnEngines):
    """A job store in one SQLite file. Opened at first use; many processes may use the same file."""

    _pages = PAGES

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
                self._open = file, Writer(file)
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

    def _do(self, steps: Callable[[Engine], Steps[T]], durable: bool = True) -> WriteCall[T]:
        return self._write(lambda tx: _booked(tx, steps), durable)

    def _look(self, query: Callable[[apsw.Connection, int], T]) -> T:
        if self._open is None and not self._create and not self._closed:  # A command, which may only look at a backup.
            self._refuse_missing()
            found = read_still(self.path, self._vfs, query, self._clock.now_us())
            if found is not None:
                return found[0]
        answer: T = self._file().read(query)
        return answer

    def _ask(self, steps: Callable[[], Steps[T]]) -> ThreadCall[T]:
        return ThreadCall(lambda: self._look(lambda db, now: look(db, now, steps())))

    # Enqueue

    def enqueue_jobs(self, params: p.EnqueueJobs) -> Call[list[p.Enqueued]]:
        jobs, whole = params.jobs, params.whole
        if whole is None:
            return self._join(params.transaction, enqueue.Enqueue(jobs))
        return self._join(params.transaction, lambda tx: enqueue.booked(tx, enqueue.enqueue_whole(tx, jobs, whole)))

    def _join(self, conn: object, operation: Operation[T]) -> Call[T]:
        """In the caller's transaction, if there is one."""
        if conn is None:
            return WriteCall(self._writer, operation)
        joined = accept(conn, self.path)
        return ThreadCall(lambda: joined.join(operation))

    def transaction(self) -> AbstractContextManager[Transaction]:
        return TransactionBlock(self._file())

    def atransaction(self) -> AbstractAsyncContextManager[Transaction]:
        return atransaction(self._file())

    # Claim, run, finish

    def claim_jobs(self, params: p.ClaimJobs) -> Call[p.Claimed]:
        return WriteCall(self._writer, lambda tx: claim.claim_jobs(tx, params), durable=False)

    def start_jobs(self, params: p.StartJobs) -> Call[list[int]]:
        return self._write(lambda tx: finish.start_jobs(tx, params), durable=False)

    def finish_jobs(self, params: p.FinishJobs) -> Call[p.Finished]:
        return self._join(params.transaction, lambda tx: finish.finish_jobs(tx, params, SqliteEngine(tx)))

    def ended_attempts(self, params: p.EndedAttempts) -> Call[list[Event | None]]:
        return self._ask(lambda: finish.ended_attempts(params))

    def save_progress(self, params: p.SaveProgress) -> Call[list[int]]:
        return self._write(lambda tx: finish.save_progress(tx, params), durable=False)

    def end_once(self, params: p.EndOnce) -> Call[bool]:
        return self._do(lambda engine: once.end_once(params))

    # Workers

    def heartbeat_worker(self, params: p.HeartbeatWorker) -> Call[p.Heartbeat]:
        return self._do(lambda engine: workers.heartbeat_worker(engine, params), durable=False)

    def read_signals(self, params: p.ReadSignals) -> Call[p.Signals]:
        return self._ask(lambda: reads.read_signals(params))

    def recover_jobs(self, params: p.RecoverJobs) -> Call[p.Recovered]:
        asked_at = self._clock.now_us()
        return self._do(lambda engine: workers.recover_jobs(engine, params, asked_at))

    def lead_store(self, params: p.LeadStore) -> Call[p.Leadership]:
        return self._do(lambda engine: duties.lead_store(params), durable=False)

    def tend_gates(self, params: p.TendGates) -> Call[None]:
        return self._do(lambda engine: duties.tend_gates(engine, params), durable=False)

    def mark_workers(self, params: p.MarkWorkers) -> Call[None]:
        return self._do(lambda engine: duties.mark_workers(params), durable=False)

    def listen(self, poll_interval: float) -> DoorbellListener:
        return DoorbellListener(self._file(), poll_interval)

    # Seeing

    def version(self) -> int:
        return self._file().version()

    def read_room(self) -> Call[p.Room | None]:
        return ThreadCall(lambda: room_of(self.path))

    # Workflows

    def enqueue_workflow(self, params: p.EnqueueWorkflow) -> Call[p.WorkflowEnqueued]:
        return self._join(
            params.transaction, lambda tx: _booked(tx, lambda engine: advancing.add(engine, params.workflow))
        )

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

    def check_store(self, params: p.CheckStore) -> Call[list[p.Finding]]:
        return ThreadCall(lambda: check.check_store(self.path, _DURABILITY[self._synchronous], self._vfs, params.deep))

    def migration_status(self) -> p.MigrationStatus:
        if not is_there(self.path):
            known = migrations()
            return p.MigrationStatus(0, known[-1][0], [name for _, name, _ in known])
        return connection.look(self.path, self._vfs)

    def migration_script(self) -> str:
        return connection.migration_script(self.migration_status().current)

    def migrate(self) -> p.MigrationStatus:
        connection.undo_cut_off(self.path, self._vfs)
        before = self.migration_status()
        self._create = True
        self._file()
        return before


def _booked(tx: Tx, steps: Callable[[Engine], Steps[T]]) -> T:
    """The operation, and what it did to jobs in the figures."""
    engine = SqliteEngine(tx)
    return tx.carry_out(booked(engine, steps(engine)))


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
