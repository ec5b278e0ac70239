"""A transaction of the caller's on a connection of the store's own (SPEC J3)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any

import psycopg

from penstock.domain.errors import CommitUncertain, UsageError
from penstock.store.postgres.errors import translate
from penstock.store.postgres.link import Link, Role
from penstock.store.postgres.placeholders import convert
from penstock.store.postgres.plain import PlainSide
from penstock.store.postgres.watch import WATCH


class PostgresTransaction:
    """An open transaction: the caller's statements and penstock's enqueues commit together or not at all."""

    def __init__(self, link: Link) -> None:
        self._link: Link | None = link
        self._lock = threading.Lock()

    @property
    def connection(self) -> psycopg.Connection[Any]:
        """The connection behind it, for what execute() cannot do."""
        if self._link is None:
            raise UsageError("this transaction has ended; open another with app.transaction()")
        found: psycopg.Connection[Any] = self._link.conn
        return found

    def execute(self, sql: str, bindings: Sequence[object] | dict[str, object] = ()) -> list[tuple[object, ...]]:
        """Run a statement of yours and return its rows. Placeholders are ? or :name, or the driver's own."""
        text, parameters = convert(sql, bindings)
        with self._lock:
            cursor = self.connection.execute(text.encode(), parameters)
            return cursor.fetchall() if cursor.description else []

    def end(self) -> None:
        self._link = None


@contextmanager
def transaction(side: PlainSide, address: str) -> Iterator[PostgresTransaction]:
    with side.lent(Role.CALLER) as link:
        handed_out: PostgresTransaction | None = None
        link.committing = False
        side.watch(link)  # While it begins and while it ends. Between, the caller may take as long as it wants.
        try:
            with link.conn.transaction():
                WATCH.end(link)
                handed_out = PostgresTransaction(link)
                try:
                    yield handed_out
                finally:
                    handed_out.end()
                    side.watch(link)
                link.committing = True
        except psycopg.Error as error:
            if handed_out is not None and not link.committing:
                raise
            told = translate(error, address)
            if link.committing and error.sqlstate is None and link.broken:
                raise CommitUncertain(f"{told}; it is not known whether this was stored") from None
            raise told from None
        finally:
            WATCH.end(link)


@asynccontextmanager
async def atransaction(side: PlainSide, address: str) -> AsyncIterator[PostgresTransaction]:
    loop = asyncio.get_running_loop()
    # A thread of its own: if those who wait for a connection filled a shared pool, nobody could commit.
    thread = ThreadPoolExecutor(1, "penstock-transaction")
    stack = ExitStack()
    beginning = loop.run_in_executor(thread, stack.enter_context, transaction(side, address))
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
    try:
        yield handed_out
    except BaseException as error:
        await asyncio.shield(loop.run_in_executor(thread, _leave, stack, error))
        raise
    else:
        await asyncio.shield(loop.run_in_executor(thread, stack.close))
    finally:
        thread.shutdown(wait=False)


def _leave(stack: ExitStack, error: BaseException) -> None:
    """Roll back. The error goes on to the caller from where it was raised."""
    try:
        stack.__exit__(type(error), error, error.__traceback__)
    except BaseException as same:
        if same is not error:
            raise
