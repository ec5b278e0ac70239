"""A store's schema with a table of the caller's beside it, for operations that join a transaction.

Emptied and used again by the next test: these never open the store itself, so nothing of it needs to be new.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from penstock.store.contract import Enqueued, JobSpec, NewJob
from penstock.store.postgres.callers.guests import GuestCall, Home
from penstock.store.postgres.connection.statements import in_schema, migrations, sql
from penstock.store.postgres.hot.enqueue import enqueue_steps
from penstock.store.sql.steps import Statement, Steps
from penstock.system.clock import SystemClock
from penstock.system.ids import IdSource
from tests.postgres.schemas import Schemas
from tests.postgres.server import shared
from tests.store.postgres.callers import Caller, opened

_ids = IdSource(SystemClock())
_numbers = itertools.count()
_schemas = Schemas(18)

T = TypeVar("T")


class Place:
    """A store's schema in the shared server, and a table of the caller's beside it."""

    def __init__(self) -> None:
        self.server = shared(18)
        self.url = self.server.url()
        self.schema = _schemas.take() or self._make()

    def _make(self) -> str:
        schema = f"guests_{next(_numbers)}"
        made = [f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.orders (note text UNIQUE)"]
        for text in (*made, *(text for _, _, text in migrations(schema))):
            _schemas.run(text)
        return schema

    def give_back(self) -> None:
        _schemas.give_back(self.schema)

    def enqueue(self, conn: object, *jobs: NewJob) -> GuestCall[list[Enqueued]]:
        return self.join(conn, lambda: enqueue_steps(jobs))

    def join(self, conn: object, steps: Callable[[], Steps[T]]) -> GuestCall[T]:
        supplied = {"now": None, "channel": "penstock_test"}
        return GuestCall(conn, steps, Home(self.bind, supplied, "postgresql://the/store"))

    def bind(self, statement: Statement) -> str:
        return sql(statement.name, self.schema) if statement.text is None else in_schema(statement.text, self.schema)

    def stored(self) -> list[str]:
        return [row[0] for row in _schemas.run(f"SELECT id::text FROM {self.schema}.job ORDER BY id")]

    def orders(self) -> list[str]:
        return [row[0] for row in _schemas.run(f"SELECT note FROM {self.schema}.orders ORDER BY note")]

    def order(self, note: str) -> str:
        return f"INSERT INTO {self.schema}.orders VALUES ('{note}')"


@contextmanager
def new_place() -> Iterator[Place]:
    place = Place()
    try:
        yield place
    finally:
        place.give_back()


def new_id() -> str:
    return _ids.next_id()


def new_job(**fields: Any) -> NewJob:
    return NewJob(new_id(), fields.pop("payload", "{}"), JobSpec(type="task", **fields))


@asynccontextmanager
async def begun(kind: str, place: Place) -> AsyncIterator[Caller]:
    """A caller in whose transaction something was done."""
    async with opened[kind](place.url, False) as caller:
        await caller.begin()
        await caller.execute(place.order("mine"))
        yield caller
