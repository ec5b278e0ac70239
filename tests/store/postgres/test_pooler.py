"""The whole of a worker's life behind a pooler in transaction mode, and without notifications."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import cast

import pytest

from penstock.domain.errors import JobCancelled, StoreUnavailable
from penstock.store import contract as p
from penstock.store.postgres.connection import pool
from penstock.store.postgres.connection.link import Role
from penstock.store.postgres.store import PostgresStore
from tests.postgres.pgbouncer import PgBouncer
from tests.postgres.proxy import Proxy
from tests.postgres.server import Server, shared
from tests.store.postgres.trouble import Place, all_final, enqueue_surely, new_place, until, working

pytestmark = pytest.mark.turns

JOBS = 300


@pytest.fixture(scope="module")
def pooler() -> Iterator[PgBouncer]:
    with PgBouncer(shared(18), settings={"default_pool_size": "4"}) as pooler:
        yield pooler


@pytest.fixture
def place(pooler: PgBouncer) -> Iterator[Place]:
    with new_place(shared(18), pooler.port) as place:
        yield place


def test_pooler_is_noticed(place: Place) -> None:
    store = cast(PostgresStore, place.app.store)
    link = pool.connect(store._database, Role.WRITE)
    try:
        assert link.pooled
        assert link.conn.prepare_threshold is None
    finally:
        link.close()


def test_direct_connection_is_not_taken_for_a_pooled_one() -> None:
    with new_place(shared(18)) as place:
        store = cast(PostgresStore, place.app.store)
        link = pool.connect(store._database, Role.WRITE)
        try:
            assert not link.pooled
        finally:
            link.close()


def test_jobs_of_many_clients_run_once_each(place: Place, pooler: PgBouncer) -> None:
    """More connections of ours than the pooler has to the server: statements of one land on many of its."""
    clients = [place.open(pooler.port) for _ in range(3)]
    place.app.store.migrate()

    def enqueue(client: int) -> None:
        for number in range(client * 20, client * 20 + 20):
            clients[client].enqueue("note", {"number": number})

    async def story() -> None:
        async with working(place.app), working(clients[0]):
            threads = [threading.Thread(target=enqueue, args=(client,)) for client in range(3)]
            for thread in threads:
                thread.start()
            jobs = await asyncio.gather(
                *(clients[number % 3].aenqueue("note", {"number": number}) for number in range(60, JOBS))
            )
            ended = await all_final(list(jobs))
            await until(lambda: not any(thread.is_alive() for thread in threads), "the clients are done")
            await until(lambda: place.counts["outcome"] == JOBS, "all jobs have ended")
        assert {(job.state.value, job.attempt) for job in ended} == {("completed", 1)}

    asyncio.run(story())
    assert place.ran == dict.fromkeys(range(JOBS), 1)
    assert "prepared statement" not in place.server.log.split(place.schema)[-1]


def test_enqueue_in_a_transaction_of_the_callers(place: Place) -> None:
    with place.app.transaction() as tx:
        tx.execute("SELECT 1")
        job = place.app.enqueue("note", {"number": 1}, conn=tx)

    def fail() -> None:
        with place.app.transaction() as tx:
            place.app.enqueue("note", {"number": 2}, conn=tx)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert place.counts["waiting"] == 1

    async def story() -> None:
        async with place.app.atransaction() as tx:
            other = await place.app.aenqueue("note", {"number": 3}, conn=tx)
        async with working(place.app):
            assert await job.aresult(timeout=30) == 1
            assert await other.aresult(timeout=30) == 3

    asyncio.run(story())


def test_running_job_is_cancelled(place: Place) -> None:
    begun = asyncio.Event()

    @place.app.job(name="endless")
    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    async def story() -> None:
        async with working(place.app):
            job = await place.app.aenqueue("endless")
            await asyncio.wait_for(begun.wait(), 30)
            await job.acancel()
            with pytest.raises(JobCancelled):
                await job.aresult(timeout=30)

    asyncio.run(story())


def test_jobs_of_a_lost_worker_are_recovered(place: Place) -> None:
    store = place.app.store
    lost = p.RegisterWorker(worker_id="lost", host="host", pid=1, version="1", slots=1, stale_after=0.5)
    session = store.register_worker(lost).wait().session
    job = place.app.enqueue("note", {"number": 1}, attempts=2)
    assert len(store.claim_jobs(p.ClaimJobs(session, 1)).wait().jobs) == 1

    async def story() -> None:
        async with working(place.app):
            await until(lambda: place.rows("SELECT status FROM worker WHERE id = 'lost'") == [("lost",)], "it is lost")
            assert (await job.aread()).crashes == 1

    asyncio.run(story())
    assert place.counts["lease"] == 0


def test_role_with_serializable_transactions_by_default(place: Place, pooler: PgBouncer) -> None:
    """Nothing can be set up on a pooled connection: collisions are real, and are done again."""
    other = place.open(pooler.port)
    place.app.store.migrate()
    place.rows("ALTER DATABASE postgres SET default_transaction_isolation = 'serializable'")
    try:
        with PgBouncer(shared(18)) as fresh:
            apps = [place.open(fresh.port), place.open(fresh.port)]

            async def story() -> None:
                async with working(apps[0]), working(apps[1]):
                    jobs = [await enqueue_surely(other, number, other.client.new_id()) for number in range(JOBS)]
                    ended = await all_final(jobs)
                assert {(job.state.value, job.attempt) for job in ended} == {("completed", 1)}

            asyncio.run(story())
    finally:
        place.rows("ALTER DATABASE postgres RESET default_transaction_isolation")
    assert place.ran == dict.fromkeys(range(JOBS), 1)


def test_worker_rides_out_a_pooler_that_is_gone_for_a_while(pooler: PgBouncer) -> None:
    with Proxy(pooler.port) as proxy, new_place(shared(18), proxy.port) as place:
        client = place.open()

        async def story() -> None:
            async with working(place.app) as worker:
                first = await client.aenqueue("note", {"number": 1})
                assert await first.aresult(timeout=30) == 1
                await asyncio.to_thread(proxy.refuse)
                second = await client.aenqueue("note", {"number": 2})
                await asyncio.to_thread(proxy.heal)
                assert await second.aresult(timeout=30) == 2
                assert not worker.done()

        asyncio.run(story())
        assert place.ran == {1: 1, 2: 1}


def test_job_is_found_after_a_crash_behind_the_pooler() -> None:
    """Transaction numbers that were not on disk are given again after a crash, and the pooler hides the crash."""
    with (
        Server(18, settings={"wal_writer_delay": "10s"}) as server,
        PgBouncer(server) as pooler,
        new_place(server, pooler.port) as place,
    ):
        store, near = place.app.store, place.open()
        near.enqueue("note", {"number": 0})
        worker = p.RegisterWorker(worker_id="one", host="host", pid=1, version="1", slots=1, stale_after=30.0)
        session = store.register_worker(worker).wait().session
        assert len(store.claim_jobs(p.ClaimJobs(session, 10)).wait().jobs) == 1
        with server.connect(options="-c synchronous_commit=off") as conn:
            for _ in range(500):
                conn.execute("SELECT pg_current_xact_id()")
        assert store.claim_jobs(p.ClaimJobs(session, 10)).wait().jobs == []
        server.kill()
        server.start()
        job = near.enqueue("note", {"number": 1})
        found: list[str] = []
        for _ in range(3):  # The first may meet a connection of the pooler that died with the server.
            with suppress(StoreUnavailable):
                found += [claim.id for claim in store.claim_jobs(p.ClaimJobs(session, 10)).wait().jobs]
        assert found == [job.id]


@pytest.mark.parametrize("notify", ["on", "off"])
def test_listener_of_a_direct_connection_and_of_none(notify: str) -> None:
    """With notifications off nothing is listened for, and jobs are found by polling."""
    with new_place(shared(18), notify=notify) as place:
        client = place.open()

        async def story() -> None:
            async with working(place.app):
                for number in range(5):
                    job = await client.aenqueue("note", {"number": number})
                    assert await job.aresult(timeout=30) == number
                listening = place.rows("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
                assert notify == "on" or listening == [(0,)]

        asyncio.run(story())
        assert place.ran == dict.fromkeys(range(5), 1)


def test_listener_behind_the_pooler_polls(place: Place) -> None:
    place.app.store.migrate()

    async def story() -> None:
        listener = place.app.store.listen(0.05)
        try:
            async with asyncio.timeout(30):
                while await listener.wait(0.3):
                    pass
                await place.app.aenqueue("note", {"number": 1})
                assert await listener.wait(20)
        finally:
            listener.close()

    asyncio.run(story())
