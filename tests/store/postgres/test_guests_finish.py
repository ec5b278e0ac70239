"""Completion in the handler's own transaction, on its own connection of every kind."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from penstock import App, Context, Fixed, State
from tests.postgres.server import shared
from tests.store.postgres.callers import KINDS, opened
from tests.worker.running import beside_worker, burst, until, until_state


class OnPurpose(Exception):
    """What the handlers of these tests raise."""


@pytest.fixture
def schema() -> Iterator[str]:
    schema = f"g_{uuid.uuid4().hex}"
    yield schema
    shared(18).execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.fixture
def app(schema: str) -> Iterator[App]:
    app = App(shared(18).url(schema=schema))
    app.store.migrate()
    shared(18).execute(f"CREATE TABLE {schema}.effects (note text)")
    yield app
    app.close()


def effects(schema: str) -> list[Any]:
    return [note for (note,) in shared(18).execute(f"SELECT note FROM {schema}.effects")]


@pytest.mark.parametrize("kind", KINDS)
def test_the_effect_and_the_completion_are_one(app: App, schema: str, kind: str) -> None:
    """The first attempt fails in its transaction; the second writes once more, and only its words remain."""

    async def write(ctx: Context) -> None:
        async with opened[kind](shared(18).url(), False) as caller:
            await caller.begin()
            await caller.execute(f"INSERT INTO {schema}.effects VALUES ('attempt {ctx.attempt}')")
            ctx.enqueue(after.bind())
            if caller.asynchronous:
                await ctx.afinish_in(caller.conn, ctx.attempt)
            else:
                await asyncio.to_thread(ctx.finish_in, caller.conn, ctx.attempt)
            if ctx.attempt == 1:
                await caller.rollback()
                raise OnPurpose
            await caller.commit()

    @app.job(name="write", attempts=2, backoff=Fixed(0))
    async def write_job(ctx: Context) -> None:
        await write(ctx)

    @app.job(name="after")
    async def after() -> None: ...

    job = write_job.enqueue()
    burst(app)
    found = job.read()
    assert (found.state, found.result, found.attempt) == (State.COMPLETED, 2, 2)
    assert effects(schema) == ["attempt 2"]
    counts = {(count.type, count.state): count.jobs for count in app.store.count_jobs().wait()}
    assert counts == {("write", State.COMPLETED): 1, ("after", State.COMPLETED): 1}


@pytest.mark.parametrize("commit", [False, True])
def test_a_transaction_that_is_open_after_the_handler_holds_up_nobody_else(
    app: App, schema: str, commit: bool, caplog: pytest.LogCaptureFixture
) -> None:
    left_open: list[psycopg.Connection[Any]] = []

    @app.job(attempts=1)
    def forget(ctx: Context) -> None:
        left_open.append(psycopg.connect(shared(18).url()))
        left_open[0].execute(f"INSERT INTO {schema}.effects VALUES ('mine')".encode())
        ctx.finish_in(left_open[0], "done")

    @app.job
    async def other() -> None: ...

    async def story() -> None:
        job = await forget.aenqueue()
        await until(lambda: left_open and held_up_by(left_open[0]), "the end of the attempt waits for the transaction")
        for _ in range(3):
            await until_state(await other.aenqueue(), State.COMPLETED)
        assert await job.astate() not in (State.COMPLETED, State.DEAD)
        with left_open[0]:
            if not commit:
                left_open[0].rollback()
        await until_state(job, State.COMPLETED if commit else State.DEAD)

    with caplog.at_level(logging.INFO):
        beside_worker(app, story)
    assert effects(schema) == (["mine"] if commit else [])
    dead = [record.getMessage() for record in caplog.records if record.levelno == logging.ERROR]
    assert ["its transaction was not committed" in one for one in dead] == ([] if commit else [True])
    late = "its own transaction was committed after its handler had ended"
    assert (late in caplog.text) is commit
    told = [getattr(record, "event", "") for record in caplog.records if record.name == "penstock.job.forget"]
    assert told == ["job.started", "job.completed" if commit else "job.dead"]


def held_up_by(conn: psycopg.Connection[Any]) -> int:
    """How many wait for its transaction."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))"
    found: int = shared(18).execute(waiting, conn.info.backend_pid)[0][0]
    return found
