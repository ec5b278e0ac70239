"""The contract on PostgreSQL: every method is one operation, carried out for plain or for async code."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random as random_module
import threading
import weakref
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeVar

import psycopg

from penstock.domain.clock import Clock
from penstock.domain.errors import StoreError, UsageError
from penstock.domain.gates import Limit
from penstock.domain.job import Job, Transition
from penstock.domain.options import Options
from penstock.domain.pauses import Pause
from penstock.domain.workflows import WorkflowInfo
from penstock.store import params as p, workflows
from penstock.store.call import Call
from penstock.store.contract import Transaction
from penstock.store.postgres import (
    check,
    coordinate,
    enqueue,
    finish,
    flow,
    migrate,
    operate,
    plain,
    read,
    schedules,
    workers,
)
from penstock.store.postgres.address import PostgresAddress
from penstock.store.postgres.calls import ClaimCall, EnqueueCall, JoinCall, StoreCall, ThreadCall
from penstock.store.postgres.errors import translate
from penstock.store.postgres.gates import read_limits
from penstock.store.postgres.guests import GuestCall
from penstock.store.postgres.link import Role
from penstock.store.postgres.listener import PostgresListener
from penstock.store.postgres.looped import LoopSide
from penstock.store.postgres.notifier import Notifier
from penstock.store.postgres.plain import PlainSide
from penstock.store.postgres.steps import Operation, Steps
from penstock.store.postgres.transaction import TransactionBlock, atransaction
from penstock.store.postgres.wake import wake
from penstock.store.postgres.wiring import Wiring
from penstock.store.postgres.workflows import carry_out
from penstock.store.transactions import CLOSED_INSIDE, is_inside

BRIEF_SECONDS = 10.0
"""For what a worker cannot wait for long: a silent server must be left before the worker counts as lost."""

T = TypeVar("T")


class PostgresStore:
    """A job store in one schema of a PostgreSQL database. Connects at first use."""

    def __init__(
        self,
        address: PostgresAddress,
        *,
        create: bool = True,
        clock: Clock | None = None,
        random: Callable[[], float] = random_module.random,
    ) -> None:
        self._address = address
        self._create = create
        self._random = random
        self._wiring = Wiring(address, clock, self._look)
        self._plain = PlainSide(self._wiring)
        self._loops: dict[int, LoopSide] = {}
        self._lock = threading.Lock()
        self._notifier = Notifier(self._wake)
        self._routes: set[enqueue.Route] = set()
        self._beats: workers.Beats = {}
        _stores.add(self)

    # Carrying out

    def looped(self) -> LoopSide:
        """The connections of the running event loop."""
        loop = asyncio.get_running_loop()
        side = self._loops.get(id(loop))
        if side is None or side.loop is not loop:
            with self._lock:
                for key, old in list(self._loops.items()):
                    if old.loop.is_closed():
                        old.abandon()
                        del self._loops[key]
                side = self._loops[id(loop)] = LoopSide(self._wiring)
        return side

    def _call(self, steps: Callable[[], Steps[T]], role: Role, **options: Any) -> StoreCall[T]:
        options.setdefault("seconds", self._address.timeout)
        return StoreCall(self, Operation(steps, **options), role)

    def _read(self, steps: Callable[[], Steps[T]]) -> StoreCall[T]:
        return self._call(steps, Role.READ, alone=True)

    def _write(self, steps: Callable[[], Steps[T]], alone: bool = False) -> StoreCall[T]:
        return self._call(steps, Role.WRITE, alone=alone)

    def _note(self, steps: Callable[[], Steps[T]]) -> StoreCall[T]:
        return self._call(steps, Role.NOTE, alone=True, durable=False, seconds=self._brief)

    @property
    def _brief(self) -> float:
        return min(BRIEF_SECONDS, self._address.timeout)

    def _look(self) -> None:
        """The store is there and fits, or is made."""
        with self._direct() as conn:
            found = migrate.status(conn, self._address.schema)
            if found.current == 0 and self._create:
                migrate.migrate(conn, self._address.schema)
                found = migrate.status(conn, self._address.schema)
            migrate.refuse_unfit(conn, self._address, found)

    @contextlib.contextmanager
    def _direct(self) -> Generator[psycopg.Connection[Any], None, None]:
        """A connection for a moment, whatever state the store is in."""
        self._wiring.refuse()
        link = plain.connect(self._wiring, Role.CALLER)
        try:
            yield link.conn
        except psycopg.Error as error:
            raise translate(error, self._address.shown) from None
        finally:
            link.close()

    # Enqueue

    def enqueue_jobs(self, params: p.EnqueueJobs) -> Call[list[p.Enqueued]]:
        jobs, whole = list(params.jobs), params.whole
        if params.transaction is not None:
            operation = Operation(lambda: enqueue.enqueue_steps(jobs, own=False))
            if whole is not None:
                operation = Operation(lambda: enqueue.enqueue_whole_steps(jobs, whole, own=False))
            return self._join(params.transaction, operation, [job.spec for job in jobs], "aenqueue()")
        if whole is not None:
            return self._write(lambda: enqueue.enqueue_whole_steps(jobs, whole))
        return EnqueueCall(self, jobs)

    def enqueue_operation(self, jobs: list[p.NewJob]) -> Operation[list[p.Enqueued]]:
        """One statement where the jobs allow it."""
        now = self._address.notify and self._notifier.now()
        return Operation(
            lambda: enqueue.enqueue_steps(jobs, wake=now), alone=enqueue.is_plain(jobs), seconds=self._address.timeout
        )

    def _wake(self) -> None:
        with contextlib.suppress(StoreError):  # A hint that is lost costs one poll.
            self._plain.run(Operation(wake, alone=True, durable=False, seconds=self._brief), Role.NOTE)

    def _join(self, conn: object, operation: Operation[T], specs: Sequence[p.JobSpec], twin: str) -> Call[T]:
        clock = self._wiring.clock
        supplied = {"now": clock.now_us() if clock else None, "channel": self._wiring.notified}
        joined = GuestCall(conn, operation, self._wiring.bind, supplied, self._address.shown, twin)
        routes = {enqueue.route_of(spec) for spec in specs} - self._routes
        return JoinCall(self, joined, routes)

    def lanes(self, routes: set[enqueue.Route]) -> StoreCall[None]:
        """Lanes are made apart from the caller's transaction: while that is open, others would wait for its end."""
        return self._write(lambda: enqueue.lane_steps(list(routes)), alone=True)

    def made(self, routes: set[enqueue.Route]) -> None:
        self._routes |= routes

    def transaction(self) -> AbstractContextManager[Transaction]:
        self._wiring.refuse()
        return TransactionBlock(self._plain, self._address.shown)

    def atransaction(self) -> AbstractAsyncContextManager[Transaction]:
        self._wiring.refuse()
        return atransaction(self._plain, self._address.shown)

    # Claim, run, finish

    def claim_jobs(self, params: p.ClaimJobs) -> Call[p.Claimed]:
        return ClaimCall(self, params)

    def start_jobs(self, params: p.StartJobs) -> Call[list[int]]:
        return self._note(lambda: finish.start_steps(params))

    def finish_jobs(self, params: p.FinishJobs) -> Call[list[int]]:
        if params.transaction is not None:
            operation = Operation(lambda: finish.finish_steps(params))
            specs = [job.spec for _, job in params.follow_ups]
            specs += [spec for _, new in params.workflows for spec in _first_specs(new)]
            return self._join(params.transaction, operation, specs, "ctx.afinish_in()")
        alone = finish.is_alone(params)
        return self._call(lambda: finish.finish_steps(params, alone), Role.WRITE, alone=alone, seconds=self._brief)

    def save_progress(self, params: p.SaveProgress) -> Call[list[int]]:
        return self._note(lambda: finish.progress_steps(params))

    def begin_once(self, params: p.BeginOnce) -> Call[p.Once]:
        return self._write(lambda: coordinate.begin_once_steps(params))

    def end_once(self, params: p.EndOnce) -> Call[bool]:
        return self._write(lambda: coordinate.end_once_steps(params), alone=True)

    # Workers

    def register_worker(self, params: p.RegisterWorker) -> Call[int]:
        return self._write(lambda: workers.register_steps(params, self._beats, self._random))

    def heartbeat_worker(self, params: p.HeartbeatWorker) -> Call[p.Heartbeat]:
        def steps() -> Steps[p.Heartbeat]:
            return workers.heartbeat_steps(params, self._beats)

        # Waits for the disk, unlike other notes: one that a crash of the server undoes would look like a restored past.
        return self._call(steps, Role.WRITE, alone=True, durable=False, seconds=self._brief)

    def read_signals(self, params: p.ReadSignals) -> Call[p.Signals]:
        return self._call(lambda: read.read_signals(params), Role.READ, alone=True, seconds=self._brief)

    def recover_jobs(self, params: p.RecoverJobs) -> Call[p.Recovered]:
        return self._write(lambda: workers.recover_steps(params, self._random))

    def lead_store(self, params: p.LeadStore) -> Call[p.Leadership]:
        # Each statement by itself: one that is stopped in between must not keep others from the lead.
        return self._call(lambda: coordinate.lead_steps(params), Role.WRITE, alone=True, seconds=self._brief)

    def give_back_jobs(self, params: p.GiveBackJobs) -> Call[p.GivenBack]:
        return self._write(lambda: coordinate.give_back_steps(params))

    def expire_jobs(self, params: p.ExpireJobs) -> Call[None]:
        return self._write(lambda: coordinate.expire_steps(params))

    def age_jobs(self, params: p.AgeJobs) -> Call[int]:
        return self._write(lambda: coordinate.age_steps(params))

    def fail_unroutable(self, params: p.FailUnroutable) -> Call[list[str]]:
        return self._write(lambda: coordinate.unroutable_steps(params))

    def tend_gates(self, params: p.TendGates) -> Call[None]:
        return self._write(lambda: coordinate.tend_steps(params))

    def mark_workers(self, params: p.MarkWorkers) -> Call[None]:
        return self._write(lambda: coordinate.mark_steps(params))

    def list_workers(self) -> Call[list[p.WorkerInfo]]:
        return self._read(read.list_workers)

    def read_types(self) -> Call[dict[str, Options]]:
        return self._read(read.read_types)

    def read_limits(self) -> Call[list[Limit]]:
        return self._read(read_limits)

    def listen(self, poll_interval: float) -> PostgresListener:
        return PostgresListener(self._wiring, poll_interval)

    # Seeing

    def read_job(self, job_id: str) -> Call[Job | None]:
        return self._read(lambda: read.read_job(job_id))

    def list_jobs(self, params: p.ListJobs) -> Call[list[Job]]:
        return self._read(lambda: read.list_jobs(params))

    def count_jobs(self, params: p.CountJobs = p.ALL_JOBS) -> Call[list[p.Count]]:
        return self._read(lambda: read.count_jobs(params))

    def count_queues(self) -> Call[int]:
        return self._read(read.count_queues)

    def count_waiting(self, params: p.CountWaiting) -> Call[list[p.Waiting]]:
        return self._read(lambda: read.count_waiting(params))

    def read_history(self, job_id: str) -> Call[list[Transition]]:
        return self._read(lambda: read.read_history(job_id))

    def version(self) -> None:
        """There is no counter of changes that is free to ask."""
        self._wiring.refuse()

    # Operating

    def cancel_job(self, params: p.CancelJob) -> Call[p.Cancelled]:
        return self._write(lambda: operate.cancel_job(params))

    def pause_work(self, params: p.PauseWork) -> Call[list[p.Switched]]:
        return self._write(lambda: flow.pause_steps(params))

    def resume_work(self, params: p.ResumeWork) -> Call[list[p.Switched]]:
        return self._write(lambda: flow.resume_steps(params))

    def list_pauses(self) -> Call[list[Pause]]:
        return self._read(flow.list_pauses)

    def count_open(self) -> Call[list[p.OpenJobs]]:
        return self._read(flow.count_open)

    def drain_worker(self, params: p.DrainWorker) -> Call[bool]:
        return self._write(lambda: flow.drain_steps(params))

    def resize_worker(self, params: p.ResizeWorker) -> Call[int]:
        return self._write(lambda: flow.resize_steps(params))

    def list_dead(self, params: p.ListDead) -> Call[p.DeadPage]:
        return self._read(lambda: read.list_dead(params))

    def retry_dead(self, params: p.RetryDead) -> Call[list[tuple[str, str]]]:
        return self._write(lambda: operate.retry_dead(params))

    def purge_dead(self, params: p.PurgeDead) -> Call[int]:
        return self._write(lambda: operate.purge_dead(params))

    def prune_jobs(self, params: p.PruneJobs) -> Call[int]:
        return self._write(lambda: operate.prune_jobs(params))

    # Workflows

    def enqueue_workflow(self, params: p.EnqueueWorkflow) -> Call[bool]:
        new = params.workflow
        if params.transaction is not None:
            operation = Operation(lambda: carry_out(workflows.add(new), own=False))
            return self._join(params.transaction, operation, _first_specs(new), "aenqueue()")
        return self._write(lambda: carry_out(workflows.add(new)))

    def read_workflow(self, workflow_id: str) -> Call[WorkflowInfo | None]:
        return self._read(lambda: carry_out(workflows.read(workflow_id)))

    def list_workflows(self, params: p.ListWorkflows) -> Call[list[WorkflowInfo]]:
        return self._read(lambda: carry_out(workflows.list_all(params)))

    def read_results(self, params: p.ReadResults) -> Call[list[p.StepResult]]:
        return self._read(lambda: carry_out(workflows.results(params)))

    def cancel_workflow(self, params: p.CancelWorkflow) -> Call[p.WorkflowCancelled]:
        return self._write(lambda: carry_out(workflows.cancel(params), operate.cancel_job))

    def retry_workflow(self, params: p.RetryWorkflow) -> Call[int]:
        return self._write(lambda: carry_out(workflows.retry(params)))

    def settle_workflows(self, params: p.SettleWorkflows) -> Call[int]:
        return self._write(lambda: coordinate.settle_steps(params))

    # Schedules

    def read_schedules(self, params: p.ReadSchedules) -> Call[p.Schedules]:
        return self._read(lambda: schedules.read_steps(params))

    def due_schedules(self, params: p.DueSchedules) -> Call[p.Schedules]:
        return self._read(lambda: schedules.due_steps(params))

    def change_schedules(self, params: p.ChangeSchedules) -> Call[dict[str, str | None]]:
        return self._write(lambda: schedules.change_steps(params))

    # The store itself

    @property
    def address(self) -> str:
        return self._address.shown

    @property
    def info(self) -> p.StoreInfo:
        self._wiring.refuse()
        self._wiring.open()
        with self._direct() as conn:
            found = migrate.status(conn, self._address.schema)
            commit = _setting(conn, "synchronous_commit")
            return p.StoreInfo(
                engine="postgresql",
                address=self._address.shown,
                library=f"PostgreSQL {_setting(conn, 'server_version')}, psycopg {psycopg.__version__}",
                durability=_durability(_setting(conn, "fsync"), commit),
                schema_version=found.current,
            )

    def read_clock(self) -> Call[int]:
        return self._read(read.read_clock)

    def check_store(self, params: p.CheckStore) -> Call[list[p.Finding]]:
        return ThreadCall(lambda: self._check(params))

    def _check(self, params: p.CheckStore) -> list[p.Finding]:
        try:
            link = plain.connect(self._wiring, Role.READ)
        except StoreError as error:
            return check.unreachable(error)
        try:
            schema, latest = self._address.schema, migrate.latest(self._address.schema)
            operation = Operation(lambda: check.check_steps(params.deep, link.pooled, latest, schema), alone=True)
            return self._plain.carry_out(link, operation)
        except psycopg.Error as error:
            return check.unreachable(translate(error, self._address.shown))
        finally:
            link.close()

    def migration_status(self) -> p.MigrationStatus:
        with self._direct() as conn:
            return migrate.status(conn, self._address.schema)

    def migration_sql(self) -> str:
        return migrate.migration_sql(self._address.schema, self.migration_status().current)

    def migrate(self) -> p.MigrationStatus:
        with self._direct() as conn:
            return migrate.migrate(conn, self._address.schema)

    def close(self) -> None:
        if self._wiring.closed:
            return
        if is_inside(self._address.shown):
            raise UsageError(CLOSED_INSIDE)
        if self._wiring.pid == os.getpid():
            self._notifier.close()
        self._wiring.closed = True
        if self._wiring.pid != os.getpid():
            return
        for side in list(self._loops.values()):
            _finish(side, self._address.timeout)
        self._plain.close()

    def abandon(self) -> None:
        """In the child of a fork: nothing of the parent's connections is used, or closed in the parent's name."""
        self._plain.abandon()


def _first_specs(new: p.NewWorkflow) -> list[p.JobSpec]:
    """Of the jobs that are enqueued with the workflow."""
    return [job.spec for step in new.steps if not step.after for job in step.jobs]


def _finish(side: LoopSide, timeout: float) -> None:
    """Let an event loop finish what it has under way, unless that is the loop which this is called from."""
    if not side.loop.is_running() or _current_loop() is side.loop:
        side.abandon()
        return
    with contextlib.suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(side.finish(), side.loop).result(timeout)


def _current_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _setting(conn: psycopg.Connection[Any], name: str) -> str:
    [(value,)] = conn.execute("SELECT current_setting(%s)", (name,)).fetchall()
    return str(value)


def _durability(fsync: str, commit: str) -> str:
    if fsync == "off":
        return "fsync=off: survives a crash of the server's processes; power loss may destroy the database"
    return (
        f"synchronous_commit={commit}: every commit of an enqueue or an outcome is on disk before the call returns; "
        "survives power loss"
    )


_stores: weakref.WeakSet[PostgresStore] = weakref.WeakSet()


def _abandon_in_child() -> None:
    for store in list(_stores):
        store.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)
