"""The bare driver on the same PostgreSQL server: one table, one index, psycopg, and nothing around them."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from penstock.bench.jobs import PAYLOAD, PROBE_GAP_SECONDS, WARM
from penstock.domain.errors import PenstockError
from penstock.program.loop import event_loop

if TYPE_CHECKING:
    from psycopg import AsyncConnection, Connection
    from psycopg.sql import Composed

    from penstock.engines import PostgresAddress

ROWS_PER_STATEMENT = 1000
WAKE_SECONDS_MAX = 10.0

_SCHEMA = """
CREATE TABLE {table} (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, queue text NOT NULL DEFAULT 'default',
    priority integer NOT NULL DEFAULT 0, run_at timestamptz NOT NULL DEFAULT now(),
    taken boolean NOT NULL DEFAULT false, payload text NOT NULL
);
CREATE INDEX ON {table} (queue, priority, run_at, id) WHERE NOT taken
"""
_INSERT = "INSERT INTO {table} (payload) VALUES (%s)"
_INSERT_MANY = "INSERT INTO {table} (payload) SELECT unnest(%s::text[])"
_INSERT_AND_NOTIFY = """
WITH new AS (INSERT INTO {table} (payload) VALUES (%s) RETURNING id) SELECT pg_notify(%s, '') FROM new
"""
# An array keeps the planner from reading the whole table for a batch, and so does a limit that it knows.
_CLAIM = """
UPDATE {table} SET taken = true WHERE id = ANY (ARRAY (
    SELECT id FROM {table} WHERE NOT taken AND queue = 'default' AND run_at <= now()
    ORDER BY priority, run_at, id LIMIT {batch} FOR UPDATE SKIP LOCKED
)) RETURNING id, payload
"""
_COMPLETE = "DELETE FROM {table} WHERE id = ANY (%s::bigint[])"


class RawPostgres:
    """Rows in the benchmark's own schema, with prepared statements and binary results where the address allows them.

    `owner` makes the table and drops it; other processes join with False.
    """

    def __init__(self, address: PostgresAddress, schema: str, owner: bool = True) -> None:
        self._address = address
        self._schema = schema
        self._owner = owner
        self._db = self._connect()
        if owner:
            self._db.execute(self._sql(_SCHEMA), prepare=False)

    def close(self) -> None:
        if self._owner:
            self._db.execute(self._sql("DROP TABLE {table}"), prepare=False)
        self._db.close()

    def insert_single(self, count: int) -> tuple[float, float]:
        insert = self._sql(_INSERT)
        cursor = self._db.cursor(binary=True)

        def one_by_one(times: int) -> None:
            for _ in range(times):
                cursor.execute(insert, (PAYLOAD,))

        one_by_one(WARM)
        begun = time.perf_counter()
        one_by_one(count)
        plain = count / (time.perf_counter() - begun)
        return plain, self._by_callers(1, count)

    def insert_concurrent(self, callers: int, each: int) -> float | None:
        return self._by_callers(callers, each)

    def _by_callers(self, callers: int, each: int) -> float:
        """Async callers, connected and tried before the clock starts."""
        insert = self._sql(_INSERT)

        async def call(db: AsyncConnection[Any], times: int) -> None:
            cursor = db.cursor(binary=True)
            for _ in range(times):
                await cursor.execute(insert, (PAYLOAD,))

        async def together() -> float:
            connections = [await self._connect_async() for _ in range(callers)]
            try:
                await asyncio.gather(*(call(db, WARM) for db in connections))
                begun = time.perf_counter()
                await asyncio.gather(*(call(db, each) for db in connections))
                return callers * each / (time.perf_counter() - begun)
            finally:
                for db in connections:
                    await db.close()

        with event_loop() as runner:
            return runner.run(together())

    def insert_bulk(self, count: int) -> float:
        insert = self._sql(_INSERT_MANY)
        self._db.execute(insert, ([],), binary=True)  # No row, and the statement is prepared.
        begun = time.perf_counter()
        with self._db.transaction():
            for start in range(0, count, ROWS_PER_STATEMENT):
                self._db.execute(insert, ([PAYLOAD] * min(ROWS_PER_STATEMENT, count - start),), binary=True)
        return count / (time.perf_counter() - begun)

    def cycle(self, count: int, batch: int) -> float:
        self.fill(WARM)
        self.drain(batch)
        self.fill(count)
        begun = time.perf_counter()
        return self.drain(batch) / (time.perf_counter() - begun)

    def fill(self, count: int) -> None:
        """So many waiting rows and no others."""
        self._db.execute(self._sql("TRUNCATE {table}"), prepare=False)
        self.insert_bulk(count)
        self._db.execute(self._sql("VACUUM ANALYZE {table}"), prepare=False)

    def drain(self, batch: int) -> int:
        """Claim and complete until nothing waits; answers how many rows that were."""
        claim, complete = self._sql(_CLAIM, batch), self._sql(_COMPLETE)
        cursor = self._db.cursor(binary=True)
        done = 0
        while rows := cursor.execute(claim).fetchall():
            cursor.execute(complete, ([row[0] for row in rows],))
            done += len(rows)
        return done

    def pickup_ms(self, count: int) -> list[float]:
        """Insert and notify in one statement, hear it on another connection, claim there."""
        from psycopg import sql

        self._db.execute(self._sql("TRUNCATE {table}"), prepare=False)
        channel = f"{self._schema}_raw"
        insert, claim = self._sql(_INSERT_AND_NOTIFY), self._sql(_CLAIM, 1)
        found: list[float] = []
        with self._connect() as listener:
            listener.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)), prepare=False)
            for probe in range(count + WARM):
                begun = time.perf_counter()
                self._db.execute(insert, (PAYLOAD, channel))
                if not list(listener.notifies(timeout=WAKE_SECONDS_MAX, stop_after=1)):
                    raise PenstockError("no notification came through; behind a transaction pooler leave --raw out")
                listener.execute(claim, binary=True).fetchall()
                if probe >= WARM:
                    found.append((time.perf_counter() - begun) * 1000)
                time.sleep(PROBE_GAP_SECONDS)
        return found

    # How

    def _sql(self, text: Any, batch: int = 0) -> Composed:
        from psycopg import sql

        return sql.SQL(text).format(table=sql.Identifier(self._schema, "raw_job"), batch=sql.Literal(batch))

    def _connect(self) -> Connection[Any]:
        import psycopg

        return psycopg.connect(self._address.conninfo, autocommit=True, prepare_threshold=self._threshold)

    async def _connect_async(self) -> AsyncConnection[Any]:
        import psycopg

        return await psycopg.AsyncConnection.connect(
            self._address.conninfo, autocommit=True, prepare_threshold=self._threshold
        )

    @property
    def _threshold(self) -> int | None:
        return 0 if self._address.prepare else None
