"""Several enqueues on one connection at the same time, and enqueues that are given up while they wait."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from penstock.domain.errors import StoreError
from penstock.domain.options import Unique
from penstock.store.postgres.hot.enqueue import enqueue_steps
from penstock.store.sql.steps import Steps, run_text
from tests.store.postgres.callers import KINDS, Caller, opened
from tests.store.postgres.places import Place, begun, new_job, new_place

BLOCKED = """SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%"{}".unique_key%'"""


@pytest.fixture
def place() -> Iterator[Place]:
    with new_place() as place:
        yield place


def store_and_break() -> Steps[None]:
    yield from enqueue_steps([new_job()])
    yield from run_text("broken", "SELECT 1 / %(zero)s::integer", zero=0)


def test_threads_on_one_connection_do_not_take_back_each_others_jobs(place: Place) -> None:
    """Savepoints nest: without order, the one that fails would undo what another has stored meanwhile."""
    jobs = [new_job() for _ in range(20)]
    failed: list[StoreError] = []

    def fail() -> None:
        for _ in range(20):
            try:
                place.join(conn, store_and_break).wait()
            except StoreError as error:
                failed.append(error)

    with psycopg.connect(place.url) as conn:
        breaking = threading.Thread(target=fail)
        breaking.start()
        for job in jobs:
            place.enqueue(conn, job).wait()
        breaking.join()
    assert len(failed) == 20
    assert place.stored() == [job.id for job in jobs]


def test_tasks_on_one_connection_do_not_take_back_each_others_jobs(place: Place) -> None:
    jobs = [new_job() for _ in range(20)]

    async def play() -> None:
        async with await psycopg.AsyncConnection.connect(place.url) as conn:
            calls = [call for job in jobs for call in (place.enqueue(conn, job), place.join(conn, store_and_break))]
            answers = await asyncio.gather(*calls, return_exceptions=True)
            assert [isinstance(answer, StoreError) for answer in answers] == [False, True] * 20

    asyncio.run(play())
    assert place.stored() == [job.id for job in jobs]


@asynccontextmanager
async def waiting_enqueue(kind: str, place: Place) -> AsyncIterator[tuple[Caller, asyncio.Future[object], Caller]]:
    """A caller whose enqueue waits for a unique key that another holds in an open transaction."""
    async with asyncio.timeout(30), begun(kind, place) as caller, opened["psycopg async"](place.url, False) as other:
        await other.carry_out(place.enqueue(other.conn, new_job(unique=Unique("one", None))))

        async def enqueue() -> object:
            return await place.enqueue(caller.conn, new_job(), new_job(unique=Unique("one", None)))

        waiting = asyncio.ensure_future(enqueue())
        while not place.server.execute(BLOCKED.format(place.schema))[0][0]:
            await asyncio.sleep(0.01)
        yield caller, waiting, other
        await other.rollback()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "sync" in kind])
def test_an_enqueue_that_is_cancelled_leaves_nothing(kind: str, place: Place) -> None:
    """The transaction can go on; only SQLAlchemy gives its connection up when a statement is cancelled."""
    gives_up = "SQLAlchemy" in kind

    async def play() -> None:
        async with waiting_enqueue(kind, place) as (caller, waiting, _):
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            if not gives_up:
                await caller.execute(place.order("more"))
                await caller.commit()

    asyncio.run(play())
    assert (place.stored(), place.orders()) == ([], [] if gives_up else ["mine", "more"])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "sync" not in kind])
def test_on_a_plain_connection_a_cancel_is_told_when_the_connection_is_free(kind: str, place: Place) -> None:
    async def play() -> None:
        async with waiting_enqueue(kind, place) as (caller, waiting, other):
            waiting.cancel()
            await asyncio.sleep(0)
            assert not waiting.done()
            await other.rollback()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await caller.rollback()

    asyncio.run(play())
    assert (place.stored(), place.orders()) == ([], [])
