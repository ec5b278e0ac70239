"""A task that is cancelled ends, also when its connection is lost in that moment and psycopg raises that instead."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from penstock import App
from tests.postgres.server import shared
from tests.worker.running import until

_numbers = itertools.count()


@pytest.fixture
def schema() -> Iterator[str]:
    schema = f"cancelled_{next(_numbers)}"
    yield schema
    shared(18).execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@pytest.fixture
def app(schema: str) -> Iterator[App]:
    app = App(shared(18).url(schema=schema))
    app.store.migrate()
    yield app
    app.close()


@pytest.fixture
def lossy(monkeypatch: pytest.MonkeyPatch) -> None:
    """As psycopg does when the server goes away while it waits for the end of a statement that was cancelled."""
    wait = psycopg.AsyncConnection.wait

    async def lost(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return await wait(self, *args, **options)
        except asyncio.CancelledError:
            raise psycopg.OperationalError("server closed the connection unexpectedly") from None

    monkeypatch.setattr(psycopg.AsyncConnection, "wait", lost)


def blocked(schema: str) -> bool:
    """Whether somebody waits for the table of workers."""
    found = shared(18).execute(f"SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '{schema}.worker'::regclass")
    return bool(found)


@pytest.mark.usefixtures("lossy")
def test_a_call_that_is_cancelled_as_its_connection_is_lost(app: App, schema: str) -> None:
    async def main() -> None:
        with psycopg.connect(shared(18).url()) as other:
            other.execute(f"LOCK TABLE {schema}.worker IN ACCESS EXCLUSIVE MODE")
            asking = asyncio.ensure_future(app.store.list_workers())
            await until(lambda: blocked(schema), "it waits for the lock")
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking

    asyncio.run(main())


@pytest.mark.usefixtures("lossy")
def test_a_listener_that_is_cancelled_as_its_connection_is_lost(app: App) -> None:
    async def main() -> None:
        listener = app.store.listen(0.1)
        await listener.wait(1.0)
        listening = asyncio.ensure_future(listener.wait(3600.0))
        for _ in range(5):
            await asyncio.sleep(0)
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(listening, 30)
        listener.close()

    asyncio.run(main())
