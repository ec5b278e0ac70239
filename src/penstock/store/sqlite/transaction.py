"""The caller's own transaction, on a connection that penstock hands out (SPEC J3).

A connection of another copy of the SQLite library on the same file would drop our locks, so none is accepted.
"""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import apsw

from penstock.domain.errors import UsageError
from penstock.store.sqlite.errors import translate
from penstock.store.sqlite.file import OpenFile
from penstock.store.sqlite.tx import Tx
from penstock.store.sqlite.writer import inside


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
                raise UsageError("this transaction has ended; open another with app.transaction()")
            try:
                return operation(self._tx)
            except apsw.Error as error:
                raise translate(error, self.path) if not isinstance(error, apsw.SQLError) else error from None

    def join(self, operation: Callable[[Tx], Any]) -> Any:
        """Carry out an operation of penstock's: all of it or nothing, also if the caller goes on after an error."""
        return self.carry_out(lambda tx: _whole(tx, operation))

    def end(self) -> None:
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


def _begin(file: OpenFile) -> tuple[apsw.Connection, Tx]:
    file.check()
    file.gate.acquire()
    try:
        db = file.connect()
        try:
            return db, file.new_tx(db)
        except BaseException:
            file.roll_back(db)
            file.disconnect(db)
            raise
    except apsw.Error as error:
        file.gate.release()
        raise translate(error, file.path) from None
    except BaseException:
        file.gate.release()
        raise


def _finish(file: OpenFile, db: apsw.Connection, tx: Tx, keep: bool) -> None:
    try:
        if keep:
            file.check()
            file.commit(tx)
            file.committed(tx)
        else:
            file.roll_back(db)
    except apsw.Error as error:
        file.roll_back(db)
        raise translate(error, file.path) from None
    except BaseException:
        file.roll_back(db)
        raise
    finally:
        file.disconnect(db)
        file.gate.release()


def _refuse_nesting(path: str) -> None:
    if inside.get() == path:
        raise UsageError("transaction() inside transaction(): SQLite has one writer; use the transaction that is open")


@contextmanager
def transaction(file: OpenFile) -> Iterator[SqliteTransaction]:
    _refuse_nesting(file.path)
    db, tx = _begin(file)
    handed_out = SqliteTransaction(file.path, tx)
    mark = inside.set(file.path)
    keep = False
    try:
        yield handed_out
        keep = True
    finally:
        inside.reset(mark)
        handed_out.end()
        _finish(file, db, tx, keep)


class _Beginning:
    """A begin whose caller may give up while it waits: then whoever comes second ends what was begun."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._begun: tuple[apsw.Connection, Tx] | None = None
        self._given_up = False

    def begin(self) -> tuple[apsw.Connection, Tx]:
        begun = _begin(self._file)
        with self._lock:
            self._begun = begun
        if self._given_up:
            _finish(self._file, *begun, keep=False)
        return begun

    def give_up(self) -> None:
        with self._lock:
            self._given_up = self._begun is None
        if not self._given_up and self._begun is not None:
            _finish(self._file, *self._begun, keep=False)


@asynccontextmanager
async def atransaction(file: OpenFile) -> AsyncIterator[SqliteTransaction]:
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    _refuse_nesting(file.path)
    loop = asyncio.get_running_loop()
    beginning = _Beginning(file)
    # A thread of its own: if those who wait filled a shared pool, the one who holds the lock could not commit.
    thread = ThreadPoolExecutor(1, "penstock-transaction")
    try:
        try:
            db, tx = await loop.run_in_executor(thread, beginning.begin)
        except asyncio.CancelledError:
            beginning.give_up()
            raise
        handed_out = SqliteTransaction(file.path, tx)
        mark = inside.set(file.path)
        keep = False
        try:
            yield handed_out
            keep = True
        finally:
            inside.reset(mark)
            handed_out.end()
            await asyncio.shield(loop.run_in_executor(thread, _finish, file, db, tx, keep))
    finally:
        thread.shutdown(wait=False)
