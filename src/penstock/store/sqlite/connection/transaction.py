"""The caller's own transaction, on a connection that penstock hands out (J3).

A connection of another copy of the SQLite library on the same file would drop our locks, so none is accepted.
"""

from __future__ import annotations

import threading
import time
from _thread import start_new_thread
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from contextvars import Token
from typing import Any

import apsw

from penstock.domain.errors import UsageError
from penstock.store.interrupts import give, take, whole
from penstock.store.sqlite.connection.errors import translate
from penstock.store.sqlite.connection.file import OpenFile
from penstock.store.sqlite.connection.tx import Tx
from penstock.store.transactions import ENDED, ENDED_INSIDE, Block, inside, is_inside

ENDING_SECONDS = 0.2


class SqliteTransaction:
    """An open transaction: the caller's statements and penstock's enqueues commit together or not at all."""

    def __init__(self, path: str, tx: Tx) -> None:
        self.path = path
        self._tx: Tx | None = tx
        self._lock = threading.Lock()

    def execute(self, sql: str, bindings: Sequence[object] | dict[str, object] = ()) -> list[tuple[object, ...]]:
        """Run a statement of yours and return its rows."""
        rows: list[tuple[object, ...]] = self.carry_out(lambda tx: _run(tx, sql, bindings))
        return rows

    def carry_out(self, operation: Callable[[Tx], Any]) -> Any:
        with self._lock:
            if self._tx is None or not self._tx.db.in_transaction:
                raise UsageError(ENDED)
            try:
                return operation(self._tx)
            except apsw.Error as error:
                raise translate(error, self.path) if not isinstance(error, apsw.SQLError) else error from None

    def join(self, operation: Callable[[Tx], Any]) -> Any:
        """Carry out an operation of penstock's: all of it or nothing, also if the caller goes on after an error."""
        return self.carry_out(lambda tx: _whole(tx, operation))

    def end(self) -> None:
        """After what is under way: in a thread it goes on when whoever awaited it has given up."""
        with self._lock:
            self._tx = None


def _run(tx: Tx, sql: str, bindings: Sequence[object] | dict[str, object]) -> list[Any]:
    tx.sure = False  # It may undo what was done here before, by a savepoint.
    return tx.db.execute(sql, bindings).fetchall()


def _whole(tx: Tx, operation: Callable[[Tx], Any]) -> Any:
    try:
        with tx.db:
            return operation(tx)
    except BaseException:
        tx.lanes.clear()
        raise


def accept(conn: object, path: str) -> SqliteTransaction:
    """The transaction to join, or an error that says how to get one."""
    if not isinstance(conn, SqliteTransaction):
        raise UsageError(
            f"conn={type(conn).__module__}.{type(conn).__qualname__} cannot be used: two copies of the SQLite library "
            "on one file lose each other's locks; use `with app.transaction() as tx`, run your SQL with tx.execute(), "
            "and pass conn=tx"
        )
    if conn.path != path:
        raise UsageError(f"conn= belongs to another store ({conn.path}); this job goes to {path}")
    return conn


class _Open:
    """What a transaction of the caller's holds: the gate, a connection and its transaction. It is ended once, however
    often and by whomever that is asked for.
    """

    def __init__(self, file: OpenFile) -> None:
        self.path = file.path
        self.is_open = True
        self.gate: list[bool] = []
        self._file = file
        self._ending = threading.Lock()
        self._db: list[apsw.Connection] = []
        self._tx: Tx | None = None
        self._handed_out: SqliteTransaction | None = None

    def begin(self) -> SqliteTransaction:
        self._file.check()
        take(self.gate, self._file.gate.acquire)
        try:
            self._tx = self._file.new_tx(take(self._db, self._file.connect))
        except apsw.Error as error:
            raise translate(error, self.path) from None
        self._handed_out = SqliteTransaction(self.path, self._tx)
        return self._handed_out

    def finish(self, keep: bool) -> None:
        self._close()
        try:
            if keep and self._tx is not None:
                if not self._tx.db.in_transaction:
                    raise UsageError(ENDED_INSIDE)
                self._file.check()
                self._file.commit(self._tx)
                self._file.committed(self._tx)
        except apsw.Error as error:
            raise translate(error, self.path) from None
        self.give_up()

    def give_up(self, keep: bool = False) -> None:
        """Let go of what is held still; what was not committed is undone."""
        self._close()
        with self._ending:
            if self._db:
                with suppress(apsw.Error):  # What cannot be rolled back is undone by closing it.
                    self._file.roll_back(self._db[0])
                self._file.disconnect(self._db[0])
                self._db.clear()
            if self.gate:
                give(self.gate, self._file.gate.__exit__)

    def _close(self) -> None:
        self.is_open = False
        if self._handed_out is not None:
            self._handed_out.end()


def _guard(opened: _Open) -> Iterator[None]:
    """Ends the transaction of a block that was left by an interrupt before its __exit__ had begun: that is noticed when
    the block, and this with it, is forgotten.
    """
    try:
        yield
    finally:
        opened.is_open = False
        if opened.gate:
            start_new_thread(opened.give_up, ())


class TransactionBlock:
    """`with app.transaction() as tx`."""

    def __init__(self, file: OpenFile) -> None:
        self._opened = _Open(file)
        self._guard = _guard(self._opened)
        self._mark: Token[Block | None] | None = None

    def __enter__(self) -> SqliteTransaction:
        _refuse_nesting(self._opened.path)
        try:
            next(self._guard)
            handed_out = self._opened.begin()
            self._mark = inside.set(self._opened)
            return handed_out
        except BaseException:  # The same as whole(), which could be interrupted after it has ended.
            try:
                self._opened.give_up()
            except BaseException:
                start_new_thread(self._opened.give_up, ())
                raise
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        whole(self._finish, self._opened.give_up, kind is None)

    def _finish(self, keep: bool) -> None:
        if self._mark is not None:
            inside.reset(self._mark)
        self._opened.finish(keep)


def _refuse_nesting(path: str) -> None:
    ends = time.monotonic() + ENDING_SECONDS
    while is_inside(path) and time.monotonic() < ends:  # One that was interrupted may be about to end in a thread.
        time.sleep(0.001)
    if is_inside(path):
        raise UsageError("transaction() inside transaction(): SQLite has one writer; use the transaction that is open")


@asynccontextmanager
async def atransaction(file: OpenFile) -> AsyncIterator[SqliteTransaction]:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    _refuse_nesting(file.path)
    loop = asyncio.get_running_loop()
    opened = _Open(file)
    # A thread of its own: if those who wait filled a shared pool, the one who holds the lock could not commit.
    thread = ThreadPoolExecutor(1, "penstock-transaction")
    try:
        try:
            handed_out = await loop.run_in_executor(thread, whole, opened.begin, opened.give_up)
        except asyncio.CancelledError:
            thread.submit(opened.give_up)  # After the begin, which may be under way.
            raise
        mark = inside.set(opened)
        keep = False
        try:
            yield handed_out
            keep = True
        finally:
            inside.reset(mark)
            await asyncio.shield(loop.run_in_executor(thread, whole, opened.finish, opened.give_up, keep))
    finally:
        thread.shutdown(wait=False)
