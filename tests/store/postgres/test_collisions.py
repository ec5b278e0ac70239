"""Transactions that collide, and notifications that are lost: every job is still found, and ends exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import pytest

from penstock import State, Unique
from penstock.store import contract as p
from penstock.store.postgres.store import PostgresStore
from tests.postgres.processes import wait_until
from tests.postgres.server import shared
from tests.store.postgres.rivals import emptied_world
from tests.store.postgres.trouble import PATIENCE_SECONDS, Place, all_final, new_job, new_place, within, working


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place(shared(18)) as place:
        place.app.store.migrate()
        yield place


# Collisions


@pytest.mark.parametrize("plain", [True, False])
def test_deadlock_of_our_own_is_done_again(place: Place, plain: bool) -> None:
    keys = [Unique("one"), Unique("two")]
    jobs = [new_job(place, number, unique=key) for number, key in enumerate(keys)]
    call = place.app.store.enqueue_jobs(p.EnqueueJobs(jobs))

    def enqueue() -> list[p.Enqueued]:
        return call.wait() if plain else asyncio.run(within(call))

    insert = f"INSERT INTO {place.schema}.unique_key VALUES ('%s', gen_random_uuid(), 1)"
    with place.server.connect() as rival, ThreadPoolExecutor(1) as pool:
        # The one whose patience ends first is the one that is sent away: that must be ours.
        rival.execute("SET deadlock_timeout = '100s'")
        rival.execute("BEGIN")
        rival.execute((insert % "two").encode())
        asked = pool.submit(enqueue)
        wait_until(lambda: bool(place.backends("wait_event_type = 'Lock'")), "ours waits for the rival")
        rival.execute((insert % "one").encode())
        rival.execute("ROLLBACK")
        assert [new.created for new in asked.result(30)] == [True, True]
    assert place.counts["job"] == 2


def test_a_start_does_not_wait_for_an_outcome_that_is_being_stored() -> None:
    """A thread tells of starts while the event loop is blocked, in the middle of a transaction that ends some."""
    with emptied_world() as world, world.rival() as rival:
        world.add_many(2)
        ending, running = world.claim(world.register())
        rival.execute("DELETE FROM lease WHERE token = %s", [ending.token])
        assert world.start(ending, running) == []
        assert (world.state(ending.id), world.state(running.id)) == (State.CLAIMED, State.RUNNING)
        rival.commit()
        assert world.start(ending, running) == [ending.token]


def test_role_with_serializable_transactions_by_default_has_no_collisions(place: Place) -> None:
    role = f"role_{place.schema}"
    place.rows(f"CREATE ROLE {role} LOGIN SUPERUSER")
    place.rows(f"ALTER ROLE {role} SET default_transaction_isolation = 'serializable'")
    places = [Place(place.server, schema=place.schema, user=role) for _ in range(2)]

    async def story() -> None:
        jobs = [await places[0].app.aenqueue("note", {"number": number}) for number in range(300)]
        async with working(places[0].app), working(places[1].app):
            ended = await all_final(jobs)
        assert {(job.state.value, job.attempt) for job in ended} == {("completed", 1)}

    try:
        asyncio.run(story())
    finally:
        for one in places:
            one.close()
        place.rows(f"DROP ROLE {role}")
    assert places[0].ran + places[1].ran == dict.fromkeys(range(300), 1)


# Notifications


def test_listener_whose_connection_is_killed_hears_again(place: Place) -> None:
    async def story() -> None:
        listener = place.app.store.listen(0.05)
        try:
            await _deaf(listener)
            [before] = place.backends("query LIKE 'LISTEN%' OR query LIKE '%Whether anything%'")
            place.kill(f"pid = {before}")
            assert await within(listener.wait(20))
            await until_listening(place, listener, before)
            await _deaf(listener)
            place.app.store.enqueue_jobs(p.EnqueueJobs([new_job(place)])).wait()
            assert await within(listener.wait(20))
        finally:
            listener.close()

    async def until_listening(place: Place, listener: Any, before: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (set(place.backends("query LIKE 'LISTEN%' OR query LIKE '%Whether anything%'")) - {before}):
                await listener.wait(0.05)

    async def _deaf(listener: Any) -> None:
        """Until it has nothing to tell any more."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while await listener.wait(0.3):
                pass

    asyncio.run(story())


def test_listener_that_hears_looks_all_the_same(place: Place) -> None:
    store, silent = place.app.store, place.open(notify="off")

    async def story() -> None:
        listener = store.listen(0.05)
        try:
            while await listener.wait(0.5):
                pass  # What it heard of before.
            await silent.aenqueue("note", {"number": 1})
            async with asyncio.timeout(15):  # A look a second, and patience with a slow machine.
                assert await listener.wait(60)
        finally:
            listener.close()

    asyncio.run(story())


def test_listener_that_gets_no_connection_lets_the_claims_poll(place: Place) -> None:
    """While nothing can be heard, every poll interval counts as news."""
    role = f"role_{place.schema}"
    place.rows(f"CREATE ROLE {role} LOGIN SUPERUSER")
    own = Place(place.server, schema=place.schema, user=role)
    store = cast(PostgresStore, own.app.store)

    async def story() -> None:
        listener = store.listen(0.05)
        try:
            await listener.wait(0.3)
            await asyncio.to_thread(place.rows, f"ALTER ROLE {role} NOSUPERUSER CONNECTION LIMIT 0")
            await asyncio.to_thread(place.kill, f"usename = '{role}'")
            async with asyncio.timeout(PATIENCE_SECONDS):
                while listener._retry_pause < 5.0:
                    assert await listener.wait(30)
            # Its next try to connect is seconds away.
            async with asyncio.timeout(2):
                assert await listener.wait(30)
                assert await listener.wait(30)
        finally:
            listener.close()

    try:
        asyncio.run(story())
    finally:
        own.close()
        place.rows(f"DROP ROLE {role}")


def test_worker_whose_listener_is_killed_again_and_again_finds_all_jobs(place: Place) -> None:
    client = place.open()

    async def story() -> None:
        async with working(place.app):
            for number in range(5):
                await asyncio.to_thread(place.kill, "query LIKE 'LISTEN%' OR query LIKE '%Whether anything%'")
                job = await client.aenqueue("note", {"number": number})
                assert await job.aresult(timeout=30) == number

    asyncio.run(story())
