"""With notify=off nothing notifies, so a transaction with jobs in it can be prepared (two-phase commit)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from penstock import App, Concurrency, Context, Fixed, State, Unique
from penstock.store.contract import DeadFilter, RetryDead, TendGates
from penstock.store.postgres.connection.statements import sql_files
from tests.postgres.server import Server
from tests.store.postgres.callers import KINDS, opened

END = "end"


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server(18, settings={"max_prepared_transactions": "5"}) as server:
        yield server


def heard(listener: psycopg.Connection[Any]) -> list[str]:
    """What was notified so far: a notification of our own comes after all of that."""
    listener.execute("SELECT pg_notify('penstock_penstock', %s)", (END,))
    found = []
    for one in listener.notifies():
        if one.payload == END:
            break
        found.append(one.payload)
    return found


def test_whatever_is_done_notifies_nobody(server: Server) -> None:
    app = App(server.url(notify="off"))

    @app.job(limit=Concurrency("one:{key}", 1), attempts=2, backoff=Fixed(0))
    async def limited(key: int) -> None:
        if key == 5:
            raise ValueError

    @app.job(attempts=1)
    async def parent(ctx: Context, fails: bool = False) -> None:
        if fails:
            raise ValueError
        ctx.enqueue(limited.bind(7))

    with server.connect() as listener:
        listener.execute('LISTEN "penstock_penstock"')
        for key in (1, 1, 1, 5):
            limited.enqueue(key)
        app.enqueue_many(limited.bind(key) for key in (1, 2, 3))
        parent.enqueue()
        dead = parent.enqueue(fails=True)
        with psycopg.connect(server.url()) as conn:
            limited.using(conn=conn).enqueue(2)
            parent.using(conn=conn, unique=Unique("mine")).enqueue()
        parent.using(delay="1h").enqueue().cancel()
        limited.enqueue(1).cancel()
        flow = app.workflow("flow")
        flow.step(limited.bind(3), after=flow.step(parent.bind()))
        flow.enqueue()
        app.pause_type("limited")
        app.resume_type("limited")
        asyncio.run(app.run_worker(burst=True))
        assert dead.state() is State.DEAD
        again = RetryDead(filter=DeadFilter(ids=(dead.id,)), new_ids=[app.client.new_id()])
        app.store.retry_dead(again).wait()
        app.store.tend_gates(TendGates()).wait()
        asyncio.run(app.run_worker(burst=True))
        assert heard(listener) == []
    app.close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_transaction_with_jobs_can_be_prepared(server: Server, kind: str) -> None:
    app = App(server.url(notify="off"))
    name = re.sub(r"\W+", "_", kind)

    @app.job
    async def plain(number: int) -> None: ...

    @app.job(limit=Concurrency(f"{name} {{number}}", 1))
    async def limited(number: int) -> None: ...

    async def play() -> list[str]:
        async with opened[kind](server.url(), False) as caller:
            await caller.begin()
            await caller.execute("SELECT 1")
            calls = [plain.bind(1), limited.bind(1)]
            if caller.asynchronous:
                handles = await app.aenqueue_many(calls, conn=caller.conn)
            else:
                handles = await asyncio.to_thread(app.enqueue_many, calls, conn=caller.conn)
            await caller.execute(f"PREPARE TRANSACTION '{name}'")
            return [handle.id for handle in handles]

    ids = asyncio.run(play())
    assert [app.store.read_job(one).wait() for one in ids] == [None, None]
    with server.connect() as conn:
        conn.execute(f"COMMIT PREPARED '{name}'")
    assert [handle.state() for handle in map(app.get, ids)] == [State.PENDING, State.PENDING]
    app.close()


def test_every_statement_that_notifies_asks_whether_there_is_a_channel() -> None:
    texts = {name: file.read_text("utf-8") for name, file in sql_files().items()}
    notifying = {name: text for name, text in texts.items() if "pg_notify" in text}
    assert notifying
    assert [name for name, text in notifying.items() if "%(channel)s::text IS NOT NULL" not in text] == []
