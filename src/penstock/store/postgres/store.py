"""The contract on PostgreSQL: every method is one operation, carried out for plain or for async code."""

from __future__ import annotations

import contextlib
import random as random_module
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, TypeVar

import psycopg

from penstock.domain.clock import Clock
from penstock.domain.errors import StoreError, UsageError
from penstock.domain.job import Event
from penstock.store import contract as p
from penstock.store.call import Call, ThreadCall
from penstock.store.contract import Transaction
from penstock.store.postgres.admin import check, migrate
from penstock.store.postgres.callers.guests import GuestCall, Home
from penstock.store.postgres.callers.transaction import TransactionBlock, atransaction
from penstock.store.postgres.calls import ClaimCall, EnqueueCall, JoinCall, StoreCall
from penstock.store.postgres.connection import pool
from penstock.store.postgres.connection.address import PostgresAddress
from penstock.store.postgres.connection.connections import Connections
from penstock.store.postgres.connection.database import Database
from penstock.store.postgres.connection.errors import translate
from penstock.store.postgres.connection.link import Role
from penstock.store.postgres.connection.listener import PostgresListener
from penstock.store.postgres.connection.operation import Operation
from penstock.store.postgres.engine import PostgresEngine
from penstock.store.postgres.hot import enqueue, finish
from penstock.store.postgres.pages import PAGES
from penstock.store.sql.engine import Engine
from penstock.store.sql.operations import duties, once, reads, workers
from penstock.store.sql.operations.figures import booked, booked_enqueue
from penstock.store.sql.steps import Steps
from penstock.store.sql.store import AlikeOnEngines
from penstock.store.sql.workflows import advancing
from penstock.store.transactions import CLOSED_INSIDE, is_inside

T = TypeVar("T")


class PostgresStore(AlikeOnEngines):
    """A job store in one schema of a PostgreSQL database. Connects at first use."""

    _pages = PAGES

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
        self._database = Database(address, clock, self._look)
        self._connections = Connections(self._database)
        self._routes: set[enqueue.Route] = set()
        self._beats: dict[int, int] = {}

    # Carrying out

    def _call(self, steps: Callable[[], Steps[T]], role: Role, **options: Any) -> StoreCall[T]:
        options.setdefault("seconds", self._address.timeout)
        return StoreCall(self._connections, Operation(lambda seen: steps(), **options), role)

    def _ask(self, steps: Callable[[], Steps[T]]) -> StoreCall[T]:
        return self._call(steps, Role.READ, alone=True)

    def _write(self, steps: Callable[[], Steps[T]], alone: bool = False) -> StoreCall[T]:
        return self._call(steps, Role.WRITE, alone=alone)

    def _do(self, steps: Callable[[Engine], Steps[T]]) -> StoreCall[T]:
        def booking() -> Steps[T]:
            engine = self._engine()
            return booked(engine, steps(engine))

        return self._write(booking)

    def _engine(self, own: bool = True) -> PostgresEngine:
        return PostgresEngine(self._random, self._beats, own)

    def _note(self, steps: Callable[[], Steps[T]]) -> StoreCall[T]:
        return self._call(steps, Role.NOTE, alone=True, durable=False, seconds=self._database.brief)

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
        self._database.refuse()
        link = pool.connect(self._database, Role.CALLER)
        try:
            yield link.conn
        except psycopg.Error as error:
            raise translate(error, self._address.shown) from None
        finally:
            link.close()

    # Enqueue

    def enqueue_jobs(self, params: p.EnqueueJobs) -> Call[list[p.Enqueued]]:
        jobs, whole = list(params.jobs), params.whole
        own = params.transaction is None
        if own and whole is None:
            return EnqueueCall(self._connections, jobs)

        def steps() -> Steps[list[p.Enqueued]]:
            if whole is None:
                return booked_enqueue(enqueue.enqueue_steps(jobs, own=own))
            return booked_enqueue(enqueue.enqueue_whole_steps(jobs, whole, own=own))

        if own:
            return self._write(steps)
        return self._join(params.transaction, steps, [job.spec for job in jobs], "aenqueue()")

    def _join(self, conn: object, steps: Callable[[], Steps[T]], specs: Sequence[p.JobSpec], twin: str) -> Call[T]:
        clock = self._database.clock
        supplied = {"now": clock.now_us() if clock else None, "channel": self._database.notified}
        home = Home(self._database.bind, supplied, self._address.shown)
        routes = set(map(enqueue.route_of, specs))
        return JoinCall(self._connections, GuestCall(conn, steps, home, twin), routes, self._routes)

    def transaction(self) -> AbstractContextManager[Transaction]:
        return TransactionBlock(self._connections.plain().pool, self._address.shown)

    def atransaction(self) -> AbstractAsyncContextManager[Transaction]:
        return atransaction(self._connections.plain().pool, self._address.shown)

    # Claim, run, finish

    def claim_jobs(self, params: p.ClaimJobs) -> Call[p.Claimed]:
        return ClaimCall(self._connections, params)

    def start_jobs(self, params: p.StartJobs) -> Call[list[int]]:
        return self._note(lambda: finish.start_steps(params))

    def finish_jobs(self, params: p.FinishJobs) -> Call[p.Finished]:
        if params.transaction is not None:
            specs = [job.spec for _, job in params.follow_ups]
            specs += [spec for _, new in params.workflows for spec in _first_specs(new)]
            return self._join(
                params.transaction,
                lambda: finish.finish_steps(params, self._engine(own=False)),
                specs,
                "ctx.afinish_in()",
            )
        alone = finish.is_alone(params)
        return self._call(
            lambda: finish.finish_steps(params, self._engine(), alone),
            Role.WRITE,
            alone=alone,
            seconds=self._database.brief,
        )

    def ended_attempts(self, params: p.EndedAttempts) -> Call[list[Event | None]]:
        return self._ask(lambda: finish.ended_steps(params))

    def save_progress(self, params: p.SaveProgress) -> Call[list[int]]:
        return self._note(lambda: finish.progress_steps(params))

    def end_once(self, params: p.EndOnce) -> Call[bool]:
        return self._write(lambda: once.end_once(params), alone=True)

    # Workers

    def heartbeat_worker(self, params: p.HeartbeatWorker) -> Call[p.Heartbeat]:
        def steps() -> Steps[p.Heartbeat]:
            return workers.heartbeat_worker(self._engine(), params)

        # Waits for the disk, unlike other notes: one that a crash of the server undoes would look like a restored past.
        return self._call(steps, Role.WRITE, alone=True, durable=False, seconds=self._database.brief)

    def read_signals(self, params: p.ReadSignals) -> Call[p.Signals]:
        return self._call(lambda: reads.read_signals(params), Role.READ, alone=True, seconds=self._database.brief)

    def recover_jobs(self, params: p.RecoverJobs) -> Call[p.Recovered]:
        return self._do(lambda engine: workers.recover_jobs(engine, params))

    def lead_store(self, params: p.LeadStore) -> Call[p.Leadership]:
        # Each statement by itself: one that is stopped in between must not keep others from the lead.
        return self._call(lambda: duties.lead_store(params), Role.WRITE, alone=True, seconds=self._database.brief)

    def listen(self, poll_interval: float) -> PostgresListener:
        return PostgresListener(self._database, poll_interval)

    # Seeing

    def version(self) -> None:
        """There is no counter of changes that is free to ask."""
        self._database.refuse()

    def read_room(self) -> Call[p.Room | None]:
        """The server tells nobody how much room its disk has."""
        return ThreadCall(lambda: None)

    # Workflows

    def enqueue_workflow(self, params: p.EnqueueWorkflow) -> Call[p.WorkflowEnqueued]:
        new = params.workflow
        if params.transaction is not None:
            engine = self._engine(own=False)
            return self._join(
                params.transaction, lambda: booked(engine, advancing.add(engine, new)), _first_specs(new), "aenqueue()"
            )
        return self._do(lambda engine: advancing.add(engine, new))

    # The store itself

    @property
    def address(self) -> str:
        return self._address.shown

    @property
    def info(self) -> p.StoreInfo:
        self._database.refuse()
        self._database.open()
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

    def check_store(self, params: p.CheckStore) -> Call[list[p.Finding]]:
        return ThreadCall(lambda: self._check(params))

    def _check(self, params: p.CheckStore) -> list[p.Finding]:
        try:
            link = pool.connect(self._database, Role.READ)
        except StoreError as error:
            return check.unreachable(error)
        try:
            schema, latest = self._address.schema, migrate.latest(self._address.schema)
            operation = Operation(lambda seen: check.check_steps(params.deep, link.pooled, latest, schema), alone=True)
            return pool.carry_out(self._database, link, operation)
        except psycopg.Error as error:
            return check.unreachable(translate(error, self._address.shown))
        finally:
            link.close()

    def migration_status(self) -> p.MigrationStatus:
        with self._direct() as conn:
            return migrate.status(conn, self._address.schema)

    def migration_script(self) -> str:
        return migrate.migration_script(self._address.schema, self.migration_status().current)

    def migrate(self) -> p.MigrationStatus:
        with self._direct() as conn:
            return migrate.migrate(conn, self._address.schema)

    def close(self) -> None:
        if self._database.closed:
            return
        if is_inside(self._address.shown):
            raise UsageError(CLOSED_INSIDE)
        self._connections.close()


def _first_specs(new: p.NewWorkflow) -> list[p.JobSpec]:
    """Of the jobs that are enqueued with the workflow."""
    return [job.spec for step in new.steps if not step.after for job in step.jobs]


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
