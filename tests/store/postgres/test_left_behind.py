"""What a block of the caller's leaves under way in a thread: it uses the connection although nobody awaits it any more.

The end comes after it, and what begins later does not join what comes next there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import psycopg
import pytest

from penstock.domain.errors import UsageError
from penstock.engines import open_store
from penstock.store.contract import EnqueueJobs
from penstock.store.postgres.callers.transaction import PostgresTransaction
from tests.contract.clock import FakeClock
from tests.contract.world import World
from tests.postgres.server import shared
from tests.worker.running import until

SCHEMA = "left_behind"


@pytest.fixture
def world() -> Iterator[World]:
    clock = FakeClock()
    store = open_store(shared(18).url(schema=SCHEMA), clock=clock)
    store.migrate()
    yield World(store, clock)
    store.close()
    shared(18).execute(f"DROP SCHEMA {SCHEMA} CASCADE")


@contextmanager
def held_up() -> Iterator[psycopg.Connection[Any]]:
    """Whoever inserts a job, or takes the lock 1, waits."""
    with psycopg.connect(shared(18).url()) as other:
        other.execute(f"LOCK TABLE {SCHEMA}.job IN ACCESS EXCLUSIVE MODE")
        other.execute("SELECT pg_advisory_xact_lock(1)")
        yield other


def waiting() -> bool:
    return bool(shared(18).execute("SELECT 1 FROM pg_locks WHERE NOT granted"))


async def leave(world: World, work: Any, keep: bool) -> list[Any]:
    """A block that ends while `work(tx)` waits for somebody else; and what became of that."""
    with held_up() as other:
        with nullcontext() if keep else pytest.raises(ZeroDivisionError):
            async with world.store.atransaction() as tx:
                tx.execute(f"CREATE TABLE {SCHEMA}.made (number integer)")
                under_way = asyncio.create_task(work(tx))
                await until(waiting, "it waits for the lock")
                asyncio.get_running_loop().call_later(0.05, other.rollback)
                if not keep:
                    raise ZeroDivisionError
        return list(await asyncio.gather(under_way, return_exceptions=True))


@pytest.mark.parametrize("keep", [False, True], ids=["rolled back", "kept"])
def test_a_statement_of_the_callers(world: World, keep: bool) -> None:
    text = f"INSERT INTO {SCHEMA}.made SELECT 1 FROM (SELECT pg_advisory_xact_lock(1)) AS locked"
    [told] = asyncio.run(leave(world, lambda tx: asyncio.to_thread(tx.execute, text), keep))
    assert told == []
    with world.store.transaction() as tx:
        assert tx.execute(f"SELECT to_regclass('{SCHEMA}.made') IS NOT NULL") == [(keep,)]
        assert not keep or tx.execute(f"SELECT number FROM {SCHEMA}.made") == [(1,)]


@pytest.mark.parametrize("keep", [False, True], ids=["rolled back", "kept"])
def test_an_enqueue_of_many_statements(world: World, keep: bool) -> None:
    jobs = [world.new_job() for _ in range(3)]

    async def enqueue(tx: object) -> Any:
        return await world.store.enqueue_jobs(EnqueueJobs(jobs, tx))

    [told] = asyncio.run(leave(world, enqueue, keep))
    assert [one.id for one in told] == [job.id for job in jobs]
    assert sorted(world.list_ids()) == (sorted(job.id for job in jobs) if keep else [])


def test_an_enqueue_that_begins_after_the_end_joins_nobody(world: World) -> None:
    """It waited for its turn on the connection, which is in another transaction by then."""
    lost, kept = world.new_job(), world.new_job()
    with world.store.transaction() as tx:
        call = world.store.enqueue_jobs(EnqueueJobs([lost], tx))
        assert isinstance(tx, PostgresTransaction)
        connection = tx.connection
    with world.store.transaction() as after:
        assert isinstance(after, PostgresTransaction)
        assert after.connection is connection
        with pytest.raises(UsageError, match="this transaction has ended"):
            call.wait()
        world.store.enqueue_jobs(EnqueueJobs([kept], after)).wait()
    assert world.list_ids() == [kept.id]
