"""Carrying out operations in async code: the connections of one event loop, and enqueues of many tasks as one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TypeVar

import psycopg

from penstock.domain.errors import CommitUncertain, PenstockError
from penstock.store.params import Enqueued, NewJob
from penstock.store.postgres.link import CONNECT_SECONDS, HELLO, Link, Retry, Role, dsn, setup
from penstock.store.postgres.steps import SEEN, Operation, Rows, Statement
from penstock.store.postgres.watch import GRACE
from penstock.store.postgres.wiring import MOVE_TOKENS, Wiring

T = TypeVar("T")
Enqueue = Callable[[list[NewJob]], Operation[list[Enqueued]]]

# A worker claims on one connection, stores outcomes on others beside it, and reads without waiting for either.
LINKS = {Role.CLAIM: 1, Role.NOTE: 1, Role.WRITE: 3, Role.READ: 3}


async def connect(wiring: Wiring, role: Role) -> Link:
    """A new connection, set up for its role."""
    retry = Retry(wiring.address)
    while True:
        try:
            conn = await psycopg.AsyncConnection.connect(dsn(wiring.address), autocommit=True)
        except psycopg.Error as error:
            await asyncio.sleep(retry.pause(error))
            continue
        try:
            return await _met(wiring, Link(conn, role))
        except psycopg.Error as error:
            conn.pgconn.finish()
            await asyncio.sleep(retry.pause(error))
        except BaseException:
            conn.pgconn.finish()
            raise


async def _met(wiring: Wiring, link: Link) -> Link:
    """Ask the server who it is, and set the connection up."""
    with hung_up_after(CONNECT_SECONDS, link), heeding_cancellation():
        link.greet(await (await link.conn.execute(HELLO)).fetchone() or ())
        link.allow_prepared(wiring.address.prepare)
        if not link.pooled:
            await link.conn.execute(setup(link.role, wiring.address.timeout).encode(), prepare=False)
        if link.role is Role.CLAIM and not link.pooled:
            await link.conn.wait(link.wire.ask(*wiring.query(MOVE_TOKENS), once=True))
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


class LoopSide:
    """The connections of one store in one event loop."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self.loop = asyncio.get_running_loop()
        self._room = {role: asyncio.Semaphore(count) for role, count in LINKS.items()}
        self._idle: dict[Role, list[Link]] = {role: [] for role in Role}
        self._under_way = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._busy = False
        self._gathered: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None

    # Connections

    @asynccontextmanager
    async def lent(self, role: Role) -> AsyncIterator[Link]:
        """A connection of this role, for this task alone."""
        if not self._wiring.looked:
            await asyncio.to_thread(self._wiring.open)
        async with self._room[role]:
            link = None
            try:
                link = self._take(role) or await connect(self._wiring, role)
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
        if self._wiring.closed or not link.usable():
            link.close()
        else:
            self._idle[link.role].append(link)

    async def finish(self) -> None:
        """Wait for what is under way, then close all."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._wiring.address.timeout):
                await self._quiet.wait()
        self.abandon()

    def abandon(self) -> None:
        """Close what is idle, without the loop."""
        for links in self._idle.values():
            while links:
                links.pop().close()

    # Operations

    @contextmanager
    def _counted(self) -> Iterator[None]:
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
        with self._counted():
            return await self._run(operation, role, lost, first)

    async def _run(
        self,
        operation: Operation[T],
        role: Role,
        lost: Callable[[Link], None] | None,
        first: Callable[[], Awaitable[None]] | None,
    ) -> T:
        tries = 0
        while True:
            tries += 1
            async with self.lent(role) as link:
                if first is not None:
                    await first()
                try:
                    return await self._carry_out(link, operation)
                except psycopg.Error as error:
                    verdict = self._wiring.judge(error, link, operation, tries)
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
        with hung_up_after(operation.seconds * GRACE, link), heeding_cancellation():
            if operation.alone:
                return await self._drive(link, operation)
            link.committing = False
            async with link.conn.transaction():
                result = await self._drive(link, operation)
                link.committing = True
            return result

    async def _drive(self, link: Link, operation: Operation[T]) -> T:
        steps = operation.steps()
        try:
            statement = next(steps)
            while True:
                try:
                    rows = await self._execute(link, statement)
                except psycopg.Error as error:
                    statement = steps.throw(error)
                else:
                    statement = steps.send(rows)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()

    async def _execute(self, link: Link, statement: Statement) -> Rows:
        if statement.name == SEEN:
            return [(link.seen,)]
        query, values = self._wiring.query(statement)
        rows: Rows = await link.conn.wait(link.wire.ask(query, values, once=statement.text is not None))
        return rows

    # Group commit: while one enqueue is under way, others gather and go as one after it.

    async def enqueue(self, jobs: list[NewJob], operation: Enqueue) -> list[Enqueued]:
        if self._busy:
            mine = _Waiting(jobs, operation, self.loop.create_future())
            self._gathered.append(mine)
            with self._counted():
                return await mine.answer
        self._busy = True
        try:
            return await self.run(operation(jobs), Role.WRITE)
        finally:
            self._lead_on()

    def _lead_on(self) -> None:
        if self._gathered:
            self._task = self.loop.create_task(self._store())
        else:
            self._busy = False

    async def _store(self) -> None:
        # Taken when this task begins: those who were just answered have had their turn to come with the next.
        batch, self._gathered = self._gathered, []
        try:
            await self._store_together(batch)
        finally:
            self._lead_on()

    async def _store_together(self, batch: list[_Waiting]) -> None:
        """All as one; if that fails, each alone, so that nobody gets the error of another."""
        jobs = [job for one in batch for job in one.jobs]
        try:
            stored: list[Enqueued] = await self.run(batch[0].operation(jobs), Role.WRITE)
            answers = iter(stored)
            for one in batch:
                one.resolve([next(answers) for _ in one.jobs])
        except Exception as error:
            if len(batch) == 1 or isinstance(error, CommitUncertain):
                for one in batch:
                    one.fail(error)
                return
            for one in batch:
                await self._store_together([one])


class _Waiting:
    """An enqueue of another task that waits for the one under way."""

    __slots__ = ("answer", "jobs", "operation")

    def __init__(self, jobs: list[NewJob], operation: Enqueue, answer: asyncio.Future[list[Enqueued]]) -> None:
        self.jobs = jobs
        self.operation = operation
        self.answer = answer

    def resolve(self, answer: list[Enqueued]) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
