"""conn= as users write it: through an App, with their own connection, and a worker that runs what was committed."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from penstock import App, EnqueueUncertain, StoreClosed, StoreMissing, UsageError
from tests.postgres.server import shared
from tests.store.postgres.callers import KINDS, Caller, opened

pytestmark = pytest.mark.turns

_numbers = itertools.count()


@pytest.fixture
def schema() -> Iterator[str]:
    schema = f"guest_app_{next(_numbers)}"
    yield schema
    shared(18).execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.fixture
def app(schema: str) -> Iterator[App]:
    app = App(shared(18).url(schema=schema))
    yield app
    app.close()


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


async def call(caller: Caller, plain: Any, twin: Any, *args: Any, **options: Any) -> Any:
    """The method for async code where the connection is one of async code; otherwise the plain one."""
    if caller.asynchronous:
        return await twin(*args, **options)
    return await asyncio.to_thread(plain, *args, **options)


def test_committed_jobs_are_run_and_others_never_were(app: App, kind: str) -> None:
    ran: list[str] = []

    @app.job(name="note")
    async def note(word: str) -> None:
        ran.append(word)

    async def enqueue(caller: Caller, word: str) -> None:
        using = note.using(conn=caller.conn)
        assert (await call(caller, using.enqueue, using.aenqueue, word)).created
        calls = [note.bind(f"{word}, many {number}") for number in range(2)]
        await call(caller, app.enqueue_many, app.aenqueue_many, calls, conn=caller.conn)
        payload = {"word": f"{word}, by name"}
        await call(caller, app.enqueue, app.aenqueue, "note", payload, conn=caller.conn, priority=-1)

    async def play() -> None:
        async with opened[kind](shared(18).url(), False) as caller:
            await caller.begin()
            await enqueue(caller, "lost")
            await caller.rollback()
            await caller.begin()
            await enqueue(caller, "kept")
            await app.run_worker(burst=True)
            assert ran == []
            await caller.commit()
        await app.run_worker(burst=True)

    asyncio.run(play())
    assert ran == ["kept", "kept, many 0", "kept, many 1", "kept, by name"]


def test_a_closed_app_and_a_wrong_connection_are_told(app: App) -> None:
    @app.job
    async def note(word: str) -> None: ...

    async def play() -> None:
        async with opened["psycopg async"](shared(18).url(), False) as caller:
            with pytest.raises(UsageError, match=r"use `await` and aenqueue\(\)"):
                await asyncio.to_thread(note.using(conn=caller.conn).enqueue, "x")
            with pytest.raises(UsageError, match="what can be passed"):
                await note.using(conn=object()).aenqueue("x")
            app.close()
            with pytest.raises(StoreClosed):
                await note.using(conn=caller.conn).aenqueue("x")

    asyncio.run(play())


def test_a_lost_connection_is_never_uncertain(app: App) -> None:
    """Nothing is committed by an enqueue in the caller's transaction, so its loss loses the job as well."""

    @app.job
    async def note(word: str) -> None: ...

    async def play() -> None:
        async with opened["asyncpg"](shared(18).url(), False) as caller:
            await caller.begin()
            await note.using(conn=caller.conn).aenqueue("x")
            await caller.close()
            with pytest.raises(Exception, match="closed") as caught:
                await note.using(conn=caller.conn).aenqueue("x")
            assert not isinstance(caught.value, EnqueueUncertain | StoreMissing)

    asyncio.run(play())
    assert app.store.count_jobs().wait() == []
