"""The caller's transaction on SQLite: only connections of ours, one at a time, and nothing after its end."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from contextlib import nullcontext
from pathlib import Path

import apsw
import pytest

from penstock.domain.errors import StoreError, UsageError
from penstock.store.contract import EnqueueJobs
from penstock.store.sqlite.connection.transaction import SqliteTransaction
from penstock.store.sqlite.store import SqliteStore
from tests.store.sqlite.conftest import enqueue, new_job, stored_ids


def join(store: SqliteStore, conn: object) -> None:
    store.enqueue_jobs(EnqueueJobs([new_job()], conn)).wait()


def test_connections_of_others_are_refused(store: SqliteStore, tmp_path: Path) -> None:
    for conn in (sqlite3.connect(":memory:"), apsw.Connection(":memory:")):
        with pytest.raises(UsageError, match=r"Connection cannot be used.*app\.transaction"):
            join(store, conn)
        conn.close()
    other = SqliteStore(str(tmp_path / "other.db"))
    with other.transaction() as tx, pytest.raises(UsageError, match="another store"):
        join(store, tx)
    other.close()
    assert stored_ids(store) == set()


def nest(store: SqliteStore) -> None:
    with store.transaction():
        raise AssertionError("a transaction began inside another")


def test_one_transaction_at_a_time(store: SqliteStore) -> None:
    with store.transaction(), pytest.raises(UsageError, match="inside transaction"):
        nest(store)
    enqueue(store)


def test_a_write_past_the_open_transaction_would_wait_for_itself(store: SqliteStore) -> None:
    with store.transaction() as tx:
        with pytest.raises(UsageError, match=r"using\(conn=tx\)"):
            enqueue(store)
        join(store, tx)
        assert stored_ids(store) == set()
    assert len(stored_ids(store)) == 1


def test_the_same_for_async_code(store: SqliteStore) -> None:
    async def nest_async() -> None:
        async with store.atransaction():
            raise AssertionError("a transaction began inside another")

    async def main() -> None:
        async with store.atransaction():
            with pytest.raises(UsageError):
                await store.enqueue_jobs(EnqueueJobs([new_job()]))
            with pytest.raises(UsageError):
                await nest_async()
        await store.enqueue_jobs(EnqueueJobs([new_job()]))

    asyncio.run(main())
    assert len(stored_ids(store)) == 1


def test_other_tasks_may_write_while_one_holds_a_transaction(store: SqliteStore) -> None:
    async def main() -> None:
        may_end = asyncio.Event()
        inside = asyncio.Event()

        async def hold() -> None:
            async with store.atransaction() as tx:
                await store.enqueue_jobs(EnqueueJobs([new_job()], tx))
                inside.set()
                await may_end.wait()

        async def write() -> None:
            await store.enqueue_jobs(EnqueueJobs([new_job()]))

        holding = asyncio.create_task(hold())
        await inside.wait()
        writing = asyncio.create_task(write())
        may_end.set()
        await asyncio.gather(holding, writing)

    asyncio.run(main())
    assert len(stored_ids(store)) == 2


def test_nothing_after_the_end(store: SqliteStore) -> None:
    with store.transaction() as tx:
        pass
    with pytest.raises(UsageError, match="has ended"):
        tx.execute("SELECT 1")
    with pytest.raises(UsageError, match="has ended"):
        join(store, tx)


def test_the_callers_own_mistakes_come_through(store: SqliteStore) -> None:
    with store.transaction() as tx:
        tx.execute("CREATE TABLE mine (x INTEGER PRIMARY KEY)")
        with pytest.raises(apsw.SQLError, match="no such table"):
            tx.execute("SELECT * FROM absent")
        tx.execute("INSERT INTO mine VALUES (1)")
        with pytest.raises(StoreError, match="UNIQUE"):
            tx.execute("INSERT INTO mine VALUES (1)")
    with store.transaction() as tx:
        assert tx.execute("SELECT x FROM mine") == [(1,)]


@pytest.mark.parametrize("kept", [False, True], ids=["cancelled", "kept"])
def test_the_end_waits_for_a_statement_that_nobody_waits_for_any_more(store: SqliteStore, kept: bool) -> None:
    """A thread cannot be cancelled: it still uses the connection when whoever awaited it has given up."""
    began, ends = threading.Event(), threading.Event()

    def hold(*_: object) -> int:
        began.set()
        return int(ends.wait(10))

    async def main() -> None:
        async with store.atransaction() as tx:
            assert isinstance(tx, SqliteTransaction)
            tx.carry_out(lambda inner: inner.db.create_scalar_function("hold", hold, 0))
            tx.execute("CREATE TABLE made (number INTEGER)")
            under_way = asyncio.create_task(asyncio.to_thread(tx.execute, "INSERT INTO made SELECT hold()"))
            await asyncio.to_thread(began.wait, 10)
            asyncio.get_running_loop().call_later(0.05, ends.set)
            if not kept:
                under_way.cancel()
                raise asyncio.CancelledError

    with nullcontext() if kept else pytest.raises(asyncio.CancelledError):
        asyncio.run(main())
    with store.transaction() as tx:
        assert tx.execute("SELECT name FROM sqlite_schema WHERE name = 'made'") == ([("made",)] if kept else [])
        assert not kept or tx.execute("SELECT number FROM made") == [(1,)]
