"""Carrying out operations in async code: the connections of one event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TypeVar

import psycopg

from penstock.domain.errors import PenstockError
from penstock.store.drive import adrive
from penstock.store.postgres.connection.database import MOVE_TOKENS, Database
from penstock.store.postgres.connection.link import CONNECT_SECONDS, HELLO, Link, Retry, Role, dsn, setup
from penstock.store.postgres.connection.operation import Operation
from penstock.store.postgres.connection.watch import GRACE
from penstock.store.sql.steps import Rows, Statement

T = TypeVar("T")

# A worker claims on one connection, stores outcomes on others beside it, and reads without waiting for either.
LINKS = {Role.CLAIM: 1, Role.NOTE: 1, Role.WRITE: 3, Role.READ: 3}


async def connect(database: Database, role: Role) -> Link:
    """A new connection, set up for its role."""
    retry = Retry(database.address)
    while True:
        try:
            conn = await psycopg.AsyncConnection.connect(dsn(database.address), autocommit=True)
        except psycopg.Error as error:
            await asyncio.sleep(retry.pause(error))
            continue
        try:
            return await _met(database, Link(conn, role))
        except psycopg.Error as error:
            conn.pgconn.finish()
            await asyncio.sleep(retry.pause(error))
        except BaseException:
            conn.pgconn.finish()
            raise


async def _met(database: Database, link: Link) -> Link:
    """Ask the server who it is, and set the connection up."""
    with hung_up_after(CONNECT_SECONDS, link), heeding_cancellation():
        link.greet(await (await link.conn.execute(HELLO)).fetchone() or ())
        link.allow_prepared(database.address.prepare)
        if not link.pooled:
            await link.conn.execute(setup(link.role, database.address.timeout).encode(), prepare=False)
        if link.role is Role.CLAIM and not link.pooled:
            await link.conn.wait(link.prepared.ask(*database.query(MOVE_TOKENS), once=True))
    return link


@contextmanager
def heeding_cancellation() -> Iterator[None]:
    """A task that is cancelled ends. psycopg hides that: it waits for the answer first, and if the connection is lost
    meanwhile raises the error of that, which whoever tries again would take for one more outage.
    """
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        yield
    except psycopg.Error as error:
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError from error
        raise


@contextmanager
def hung_up_after(seconds: float, link: Link) -> Iterator[None]:
    """The watch of async code: a server that does not answer within so many seconds is hung up on."""
    watch = asyncio.get_running_loop().call_later(seconds, link.abort)
    try:
        yield
    finally:
        watch.cancel()


class LoopPool:
    """The connections of one store in one event loop."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.loop = asyncio.get_running_loop()
        self._room = {role: asyncio.Semaphore(count) for role, count in LINKS.items()}
        self._idle: dict[Role, list[Link]] = {role: [] for role in Role}
        self._under_way = 0
        self._quiet = asyncio.Event()
        self._quiet.set()

    # Connections

    @asynccontextmanager
    async def lent(self, role: Role) -> AsyncIterator[Link]:
        """A connection of this role, for this task alone."""
        if not self._database.looked:
            await asyncio.to_thread(self._database.open)
        async with self._room[role]:
            link = None
            try:
                link = self._take(role) or await connect(self._database, role)
                yield link
            finally:
                if link is not None:
                    self._give_back(link)

    def _take(self, role: Role) -> Link | None:
        idle = self._idle[role]
        while idle:
            link = idle.pop()
            if link.alive():
                return link
            link.close()
        return None

    def _give_back(self, link: Link) -> None:
        if self._database.closed or not link.usable():
            link.close()
        else:
            self._idle[link.role].append(link)

    async def finish(self) -> None:
        """Wait for what is under way, then close all."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._database.address.timeout):
                await self._quiet.wait()
        self.abandon()

    def abandon(self) -> None:
        """Close what is idle, without the loop."""
        for links in self._idle.values():
            while links:
                links.pop().close()

    # Operations

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Something is under way, which the end of the store waits for."""
        self._under_way += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._quiet.set()

    async def run(
        self,
        operation: Operation[T],
        role: Role,
        lost: Callable[[Link], None] | None = None,
        first: Callable[[], Awaitable[None]] | None = None,
    ) -> T:
        """`lost` is told when the server may have done some of what was asked, and its answer is not known.

        `first` is awaited before each try, when the connection is there already: of a role that has only one, nobody
        else is at work then.
        """
        tries = 0
        with self.counted():
            while True:
                tries += 1
                async with self.lent(role) as link:
                    if first is not None:
                        await first()
                    try:
                        return await self._carry_out(link, operation)
                    except psycopg.Error as error:
                        verdict = self._database.judge(error, link, operation, tries)
                        if lost is not None:
                            lost(link)
                    except BaseException:
                        if not link.usable():
                            link.close()
                        if lost is not None:
                            lost(link)
                        raise
                if isinstance(verdict, PenstockError):
                    raise verdict from None
                await asyncio.sleep(verdict)

    async def _carry_out(self, link: Link, operation: Operation[T]) -> T:
        execute = partial(self._execute, link)
        with hung_up_after(operation.seconds * GRACE, link), heeding_cancellation():
            if operation.alone:
                return await adrive(operation.steps(link.seen), execute)
            link.committing = False
            async with link.conn.transaction():
                result = await adrive(operation.steps(link.seen), execute)
                link.committing = True
            return result

    async def _execute(self, link: Link, statement: Statement) -> Rows:
        query, values = self._database.query(statement)
        rows: Rows = await link.conn.wait(link.prepared.ask(query, values, once=statement.text is not None))
        return rows
