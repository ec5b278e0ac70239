"""Jobs inside of the caller's own transaction, on every kind of connection that people hold in their hands."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.domain.errors import PenstockError, StoreError, UsageError
from penstock.domain.options import Tenant, Unique
from penstock.store.contract import Enqueued
from penstock.store.postgres.hot.enqueue import enqueue_steps
from penstock.store.sql.steps import Steps, run_text
from tests.store.postgres.callers import KINDS, SESSIONS, Caller, opened
from tests.store.postgres.places import Place, begun, new_id, new_job, new_place


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place() as place:
        yield place


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def playing(act: Callable[[Caller], Any], kind: str, place: Place) -> None:
    async def play() -> None:
        async with begun(kind, place) as caller:
            await act(caller)

    asyncio.run(play())


def test_the_job_is_there_when_the_transaction_commits(kind: str, place: Place) -> None:
    job = new_job()

    async def act(caller: Caller) -> None:
        assert await caller.carry_out(place.enqueue(caller.conn, job)) == [Enqueued(job.id, True)]
        assert (place.stored(), place.orders()) == ([], [])
        await caller.commit()

    playing(act, kind, place)
    assert (place.stored(), place.orders()) == ([job.id], ["mine"])


def test_the_job_is_not_there_when_the_transaction_is_rolled_back(kind: str, place: Place) -> None:
    async def act(caller: Caller) -> None:
        await caller.carry_out(place.enqueue(caller.conn, new_job()))
        await caller.rollback()

    playing(act, kind, place)
    assert (place.stored(), place.orders()) == ([], [])


def test_the_enqueue_may_be_what_begins_the_transaction(kind: str, place: Place) -> None:
    async def play() -> None:
        async with opened[kind](place.url, False) as caller:
            await caller.begin()
            await caller.carry_out(place.enqueue(caller.conn, new_job()))
            await caller.execute(place.order("mine"))
            assert place.stored() == []
            await caller.rollback()

    asyncio.run(play())
    assert (place.stored(), place.orders()) == ([], [])


def test_a_savepoint_of_the_callers_that_rolls_back_takes_the_job_along(kind: str, place: Place) -> None:
    kept, taken_back = new_job(), new_job()

    async def act(caller: Caller) -> None:
        await caller.carry_out(place.enqueue(caller.conn, kept))
        await caller.execute("SAVEPOINT penstock")  # Even of the name of ours.
        await caller.carry_out(place.enqueue(caller.conn, taken_back))
        await caller.execute("ROLLBACK TO SAVEPOINT penstock")
        await caller.commit()

    playing(act, kind, place)
    assert (place.stored(), place.orders()) == ([kept.id], ["mine"])


def test_an_aborted_transaction_is_told(kind: str, place: Place) -> None:
    job = new_job()

    async def act(caller: Caller) -> None:
        with pytest.raises(Exception, match="division by zero"):
            await caller.execute("SELECT 1 / 0")
        with pytest.raises(UsageError, match="was aborted by an earlier error; roll it back first"):
            await caller.carry_out(place.enqueue(caller.conn, job))
        await caller.rollback()
        await caller.begin()
        await caller.carry_out(place.enqueue(caller.conn, job))
        await caller.commit()

    playing(act, kind, place)
    assert (place.stored(), place.orders()) == ([job.id], [])


def test_a_connection_without_a_transaction_is_refused(kind: str, place: Place) -> None:
    async def play() -> None:
        async with opened[kind](place.url, True) as caller:
            await caller.execute("SELECT 1")
            with pytest.raises(UsageError, match=r"would be stored apart from your work; .*, or leave conn= out"):
                await caller.carry_out(place.enqueue(caller.conn, new_job()))

    asyncio.run(play())
    assert place.stored() == []


def test_a_transaction_begun_by_hand_on_an_autocommit_connection(kind: str, place: Place) -> None:
    job = new_job()

    async def play() -> None:
        async with opened[kind](place.url, True) as caller:
            await caller.execute("BEGIN")
            await caller.carry_out(place.enqueue(caller.conn, new_job()))
            await caller.execute("ROLLBACK")
            await caller.execute("BEGIN")
            await caller.carry_out(place.enqueue(caller.conn, job))
            await caller.execute("COMMIT")

    asyncio.run(play())
    assert place.stored() == [job.id]


def test_a_unique_conflict_does_not_abort_the_transaction(kind: str, place: Place) -> None:
    first, second, third = (new_job(unique=Unique("one", None)) for _ in range(3))

    async def act(caller: Caller) -> None:
        assert await caller.carry_out(place.enqueue(caller.conn, first)) == [Enqueued(first.id, True)]
        assert await caller.carry_out(place.enqueue(caller.conn, second)) == [Enqueued(first.id, False)]
        await caller.commit()
        await caller.begin()
        assert await caller.carry_out(place.enqueue(caller.conn, third)) == [Enqueued(first.id, False)]
        assert await caller.carry_out(place.enqueue(caller.conn, first)) == [Enqueued(first.id, False)]
        await caller.execute(place.order("another"))
        await caller.commit()

    playing(act, kind, place)
    assert (place.stored(), place.orders()) == ([first.id], ["another", "mine"])


def test_an_error_of_ours_leaves_nothing_and_the_transaction_goes_on(kind: str, place: Place) -> None:
    secret = new_job(payload='{"card":"4111"}')

    def store_and_break() -> Steps[None]:
        yield from enqueue_steps([secret])
        yield from run_text("broken", "SELECT 1 / %(zero)s::integer, %(note)s::text", zero=0, note=secret.payload)

    async def act(caller: Caller) -> None:
        with pytest.raises(StoreError, match=r"the store answered: .*division by zero") as caught:
            await caller.carry_out(place.join(caller.conn, store_and_break))
        assert "4111" not in f"{caught.value}{caught.value.__cause__}"
        await caller.commit()

    playing(act, kind, place)
    assert (place.stored(), place.orders()) == ([], ["mine"])


def test_a_value_that_cannot_be_stored(kind: str, place: Place) -> None:
    async def act(caller: Caller) -> None:
        with pytest.raises((PenstockError, ValueError)):
            await caller.carry_out(place.enqueue(caller.conn, new_job(payload='{"a":"\0"}')))
        await caller.commit()

    playing(act, kind, place)
    assert (place.stored(), place.orders()) == ([], ["mine"])


def test_in_a_serializable_transaction(kind: str, place: Place) -> None:
    first, second = new_job(unique=Unique("one", None)), new_job(unique=Unique("one", None))

    async def play() -> None:
        async with opened[kind](place.url, False) as caller, begun("psycopg", place) as other:
            await caller.begin()
            await caller.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            await caller.execute("SELECT 1")
            await other.carry_out(place.enqueue(other.conn, first))
            await other.commit()
            with pytest.raises(Exception, match="could not serialize access") as caught:
                await caller.carry_out(place.enqueue(caller.conn, second))
            assert not isinstance(caught.value, PenstockError), "the caller's own retry would not see it"
            await caller.rollback()
            await caller.begin()
            await caller.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            assert await caller.carry_out(place.enqueue(caller.conn, second)) == [Enqueued(first.id, False)]
            await caller.commit()

    asyncio.run(play())
    assert place.stored() == [first.id]


def test_another_database_is_told(kind: str, place: Place) -> None:
    async def play() -> None:
        async with opened[kind](place.server.url("template1"), False) as caller:
            await caller.begin()
            await caller.execute("CREATE TEMPORARY TABLE mine (note text)")
            with pytest.raises(UsageError, match="leads to a database without the tables of the store at postgresql:"):
                await caller.carry_out(place.enqueue(caller.conn, new_job()))
            await caller.execute("INSERT INTO mine VALUES ('goes on')")
            await caller.commit()

    asyncio.run(play())


@pytest.mark.parametrize("kind", sorted(set(KINDS) - SESSIONS))
def test_a_closed_connection_is_told(kind: str, place: Place) -> None:
    async def play() -> None:
        async with opened[kind](place.url, False) as caller:
            await caller.close()
            with pytest.raises(UsageError, match=r"cannot be used: it (is closed|was given back to its pool)"):
                await caller.carry_out(place.enqueue(caller.conn, new_job()))

    asyncio.run(play())


def test_a_connection_that_the_server_has_ended(kind: str, place: Place) -> None:
    async def act(caller: Caller) -> None:
        place.server.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
            f" WHERE state = 'idle in transaction' AND query = $${place.order('mine')}$$"
        )
        with pytest.raises((StoreError, UsageError)):
            await caller.carry_out(place.enqueue(caller.conn, new_job()))
        await caller.close()

    playing(act, kind, place)
    assert (place.stored(), place.orders()) == ([], [])


def test_all_fields_arrive_alike(kind: str, place: Place) -> None:
    """Drivers differ in how they bind arrays, NULLs and numbers; what is stored does not."""
    spec: dict[str, Any] = {
        "tags": ("a", "b,{c}", 'd"'),
        "tenant": Tenant("acme", "north"),
        "delay": 5.5,
        "ttl": 60.0,
        "priority": -7,
        "policy": '{"attempts":1}',
        "parent": new_id(),
        "unique": Unique("key %s %% :a ?", 60.0),
    }
    jobs = [new_job(payload=f'{{"n":{n},"text":"100 % äöü ☂ \\\\ \'x\'"}}', **spec) for n in range(1)]
    jobs += [new_job(payload='{"n":2}'), new_job(payload='{"n":3}'), new_job(at=1_700_000_000_000_000)]

    async def act(caller: Caller) -> None:
        found = await caller.carry_out(place.enqueue(caller.conn, *jobs))
        assert found == [Enqueued(job.id, True) for job in jobs]
        await caller.commit()

    playing(act, kind, place)
    rows = place.server.execute(
        f"""SELECT id::text, payload, tags, org, workspace, policy, parent::text, unique_key, priority,
            due_at - created_at, (SELECT expires_at - due_at FROM {place.schema}.waiting WHERE waiting.id = job.id)
            FROM {place.schema}.job JOIN {place.schema}.lane USING (lane) ORDER BY id"""
    )
    tags = ["a", "b,{c}", 'd"']
    whole = (tags, "acme", "north", spec["policy"], spec["parent"], "key %s %% :a ?", -7, 5_500_000, 60_000_000)
    plain = (None, None, None, None, None, None, 0)
    assert rows[0] == (jobs[0].id, jobs[0].payload, *whole)
    assert rows[1:3] == [(job.id, job.payload, *plain, 0, None) for job in jobs[1:3]]
    assert rows[3][:9] == (jobs[3].id, jobs[3].payload, *plain)
