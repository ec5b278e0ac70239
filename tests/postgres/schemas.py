"""Schemas of stores on the shared servers, emptied and used again: making one costs many times what emptying it does.

A test that changes tables, rights or anything but rows makes a schema of its own instead.
"""

from __future__ import annotations

import atexit
import functools
from typing import Any

import psycopg

from tests.postgres.binaries import Version
from tests.postgres.server import shared

KEPT = "'meta', 'order_number'"
"""The tables with rows that migrations put there."""


class Schemas:
    """Those of one server that nobody uses at the moment. Their tables are there and hold no rows."""

    def __init__(self, version: Version) -> None:
        self._version: Version = version
        self._emptied: list[str] = []

    def take(self) -> str | None:
        return self._emptied.pop() if self._emptied else None

    def give_back(self, schema: str) -> None:
        """Empty it for the next test, if it was made at all."""
        found = self.run(
            f"SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('{schema}')"
            f" AND relkind = 'r' AND relname NOT IN ({KEPT})"
        )
        if found:
            self.run("; ".join(f"DELETE FROM {schema}.{name}" for (name,) in found))
            self._emptied.append(schema)

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        """As the superuser."""
        cursor = _connection(self._version).execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


@functools.cache
def _connection(version: Version) -> psycopg.Connection[Any]:
    """One that stays: it knows the tables by now. What waits for a lock that is never freed fails."""
    connection = shared(version).connect(options="-c lock_timeout=10s")
    atexit.register(connection.close)
    return connection


@functools.cache
def schemas(version: Version) -> Schemas:
    return Schemas(version)
