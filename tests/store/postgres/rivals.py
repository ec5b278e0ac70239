"""A store on the shared server, and a rival that acts on its tables at the same time, in a transaction of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg

from penstock.engines import open_store
from tests.contract.clock import FakeClock
from tests.contract.world import World
from tests.postgres.processes import wait_until
from tests.postgres.schemas import schemas
from tests.postgres.server import Server, shared

T = TypeVar("T")
Connection = psycopg.Connection[tuple[Any, ...]]


class RivalWorld(World):
    """A world whose tables can be looked at, and in which others can act between a look and an act."""

    def __init__(self, server: Server, schema: str, user: str = "postgres") -> None:
        self.server = server
        self.schema = schema
        self.url = server.url(user=user, schema=schema)
        clock = FakeClock()
        super().__init__(open_store(self.url, clock=clock, random=lambda: 0.5), clock)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement of the superuser's in the schema of the store."""
        with self.connect() as connection, connection.transaction():
            cursor = connection.execute(sql.encode())
            return cursor.fetchall() if cursor.description else []

    def connect(self) -> Connection:
        return self.server.connect(options=f"-c search_path={self.schema} -c lock_timeout=30s")

    @contextmanager
    def rival(self) -> Iterator[Connection]:
        """A connection in a transaction, which is rolled back at the end unless it was committed."""
        with self.connect() as connection:
            connection.autocommit = False
            try:
                yield connection
            finally:
                connection.rollback()

    def start_behind(self, rival: Connection, act: Callable[[], T]) -> Future[T]:
        """Start to act in a thread; returns when it waits for a lock that the rival holds."""
        pool = ThreadPoolExecutor(1)
        future = pool.submit(act)
        pool.shutdown(wait=False)
        holder = rival.info.backend_pid
        waiting = f"SELECT count(*) FROM pg_stat_activity WHERE {holder} = ANY (pg_blocking_pids(pid))"
        wait_until(lambda: self.rows(waiting) != [(0,)] or future.done(), "it waits for the rival")
        assert not future.done(), "it did not wait for the rival"
        return future


@contextmanager
def new_world(server: Server | None = None) -> Iterator[RivalWorld]:
    """In a schema of its own, to which anything may be done."""
    world = RivalWorld(server or shared(18), f"rivals_{uuid.uuid4().hex}")
    try:
        world.store.migrate()
        yield world
    finally:
        world.store.close()
        world.server.execute(f"DROP SCHEMA IF EXISTS {world.schema} CASCADE")


@contextmanager
def emptied_world() -> Iterator[RivalWorld]:
    """In a schema that others used before, for tests that change nothing but rows."""
    emptied = schemas(18).take()
    world = RivalWorld(shared(18), emptied or f"rivals_{uuid.uuid4().hex}")
    try:
        if emptied is None:
            world.store.migrate()
        yield world
    finally:
        world.store.close()
        schemas(18).give_back(world.schema)
