"""A transaction of the caller's on a connection of the store's own (J3)."""

from __future__ import annotations

import asyncio
import threading
from _thread import start_new_thread
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from penstock.domain.errors import CommitUncertain, StoreRefused, UsageError
from penstock.store.interrupts import whole
from penstock.store.postgres.callers.guests import lock_of
from penstock.store.postgres.callers.placeholders import convert
from penstock.store.postgres.connection.errors import translate
from penstock.store.postgres.connection.link import Link, Role
from penstock.store.postgres.connection.pool import Loan, Pool
from penstock.store.postgres.connection.watch import WATCH
from penstock.store.transactions import ENDED, ENDED_INSIDE, FAILED_INSIDE, inside


class PostgresTransaction:
    """An open transaction: the caller's statements and penstock's enqueues commit together or not at all."""

    def __init__(self, link: Link) -> None:
        self._link: Link | None = link
        self._lock = lock_of(link.conn, threading.Lock)

    @property
    def is_open(self) -> bool:
        return self._link is not None

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """The connection behind it, for what execute() cannot do."""
        if self._link is None:
            raise UsageError(ENDED)
        found: psycopg.Connection[Any] = self._link.conn
        if found.info.transaction_status is TransactionStatus.IDLE:  # By a statement of the caller's.
            raise UsageError(ENDED)
        return found

    def execute(self, sql: str, bindings: Sequence[object] | dict[str, object] = ()) -> list[tuple[object, ...]]:
        """Run a statement of yours and return its rows. Placeholders are ? or :name, or the driver's own."""
        text, parameters = convert(sql, bindings)
        with self._lock:
            cursor = self.connection.execute(text.encode(), parameters)
            return cursor.fetchall() if cursor.description else []

    def end(self) -> None:
        """After what is under way: in a thread it goes on when whoever awaited it has given up."""
        with self._lock:
            self._link = None


def _guard(side: Pool, loan: Loan) -> Iterator[None]:
    """Ends the transaction of a block that was left by an interrupt before its __exit__ had begun: that is noticed when
    the block, and this with it, is forgotten.
    """
    try:
        yield
    finally:
        if loan.place:
            start_new_thread(side.drop, (loan,))


@dataclass(frozen=True)
class _Mark:
    """Of a block, which may be forgotten while its mark is there."""

    path: str
    loan: Loan

    @property
    def is_open(self) -> bool:
        return bool(self.loan.place)


class TransactionBlock:
    """`with app.transaction() as tx`."""

    def __init__(self, side: Pool, address: str) -> None:
        self._side = side
        self._address = address
        self._loan = Loan(Role.CALLER)
        self._guard = _guard(side, self._loan)
        self._handed_out: PostgresTransaction | None = None
        self._outer = inside.get()
        self.mark = _Mark(address, self._loan)

    def __enter__(self) -> PostgresTransaction:
        try:
            next(self._guard)
            return self._begin()
        except BaseException:  # The same as whole(), which could be interrupted after it has ended.
            try:
                self._side.drop(self._loan)
            except BaseException:
                start_new_thread(self._side.drop, (self._loan,))
                raise
            raise

    def _begin(self) -> PostgresTransaction:
        link = self._side.borrow(self._loan)
        self._side.watch(link)  # While it begins and while it ends. Between, the caller may take as long as it wants.
        self._within = link.conn.transaction()
        try:
            self._within.__enter__()
        except psycopg.Error as error:
            raise translate(error, self._address) from None
        WATCH.end(link)
        self._handed_out = PostgresTransaction(link)
        inside.set(self.mark)
        return self._handed_out

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        inside.set(self._outer)
        return whole(self._end, self._give_up, kind, error, trace)

    def _give_up(self, *_: object) -> None:
        if self._handed_out is not None:
            self._handed_out.end()
        self._side.drop(self._loan)

    def _end(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if self._handed_out is not None:
            self._handed_out.end()
        link = self._loan.links[0]
        if kind is None:
            _refuse_what_cannot_be_committed(link.conn)
        self._side.watch(link)
        try:
            hidden: bool | None = self._within.__exit__(kind, error, trace)
        except psycopg.Error as failed:
            if kind is not None:
                raise
            told = translate(failed, self._address)
            if failed.sqlstate is None and link.broken:
                raise CommitUncertain(f"{told}; it is not known whether this was stored") from None
            raise told from None
        WATCH.end(link)
        self._side.give_back(self._loan)
        return hidden


def _refuse_what_cannot_be_committed(conn: psycopg.Connection[Any]) -> None:
    """The server answers a commit of what has failed by a rollback, and says so only in passing."""
    status = conn.info.transaction_status
    if status is TransactionStatus.INERROR:
        raise StoreRefused(FAILED_INSIDE)
    if status is TransactionStatus.IDLE:
        raise UsageError(ENDED_INSIDE)


@asynccontextmanager
async def atransaction(side: Pool, address: str) -> AsyncIterator[PostgresTransaction]:
    loop = asyncio.get_running_loop()
    # A thread of its own: if those who wait for a connection filled a shared pool, nobody could commit.
    thread = ThreadPoolExecutor(1, "penstock-transaction")
    stack = ExitStack()
    block = TransactionBlock(side, address)
    beginning = loop.run_in_executor(thread, stack.enter_context, block)
    try:
        handed_out = await asyncio.shield(beginning)
    except asyncio.CancelledError as cancelled:
        # It may begin after its caller has gone: then it is ended at once, in its own thread.
        thread.submit(_leave, stack, cancelled)
        beginning.add_done_callback(lambda begun: begun.cancelled() or begun.exception())
        thread.shutdown(wait=False)
        raise
    except BaseException:
        thread.shutdown(wait=False)
        raise
    outer = inside.get()
    inside.set(block.mark)
    try:
        yield handed_out
    except BaseException as error:
        await asyncio.shield(loop.run_in_executor(thread, _leave, stack, error))
        raise
    else:
        await asyncio.shield(loop.run_in_executor(thread, stack.close))
    finally:
        inside.set(outer)
        thread.shutdown(wait=False)


def _leave(stack: ExitStack, error: BaseException) -> None:
    """Roll back. The error goes on to the caller from where it was raised."""
    try:
        stack.__exit__(type(error), error, error.__traceback__)
    except BaseException as same:
        if same is not error:
            raise
