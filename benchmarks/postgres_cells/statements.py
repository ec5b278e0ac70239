"""Counts the statements that this process sends, where it calls the driver: exact, and on any server."""

from __future__ import annotations

from typing import Any

import psycopg

from penstock.store.postgres.connection.prepared import Prepared


class Statements:
    """Everything that is executed by the engine or psycopg from now on, and the BEGIN and COMMIT of transactions."""

    def __init__(self) -> None:
        self.count = 0
        self._count_calls(Prepared, "ask", 1)
        for cursor in (psycopg.Cursor, psycopg.AsyncCursor):
            self._count_calls(cursor, "execute", 1)
        for connection in (psycopg.Connection, psycopg.AsyncConnection):
            self._count_calls(connection, "transaction", 2)

    def _count_calls(self, owner: Any, name: str, each: int) -> None:
        original = getattr(owner, name)

        def counted(*args: Any, **options: Any) -> Any:
            self.count += each
            return original(*args, **options)

        setattr(owner, name, counted)
