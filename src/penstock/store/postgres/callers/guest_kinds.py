"""The connections that people hold in their hands, each with one way to run a statement of penstock's on it.

They are recognised by the names of their classes: no library is imported to find out what somebody has.
"""

from __future__ import annotations

import importlib
from typing import Any, cast

from penstock.domain.errors import UsageError
from penstock.store.postgres.connection.statements import numbered
from penstock.store.sql.steps import Rows
from penstock.store.transactions import ENDED

ACCEPTED = (
    "a connection of psycopg, asyncpg or psycopg2, a Connection or Session of SQLAlchemy (also the async ones), "
    "or what app.transaction() gives"
)


class Guest:
    """A connection of the caller's, with its transaction. `begin` says how one is opened on it."""

    begin = "begin a transaction"

    def __init__(self, conn: Any) -> None:
        self._conn = conn

    @property
    def name(self) -> str:
        return f"{type(self._conn).__module__.partition('.')[0]}.{type(self._conn).__qualname__}"

    def refusal(self) -> str | None:
        """Why it cannot be used as it is, if that can be known without asking the server."""
        return "it is closed; pass an open one" if self._conn.closed else None

    @property
    def key(self) -> Any:
        """What stands for the connection itself, where several objects may."""
        return self._conn


class PlainGuest(Guest):
    """One that blocks."""

    def run(self, text: str, parameters: dict[str, Any]) -> Rows:
        """All rows of one statement, written as those in sql/ are."""
        raise NotImplementedError


class AsyncGuest(Guest):
    """One of async code."""

    async def run(self, text: str, parameters: dict[str, Any]) -> Rows:
        """All rows of one statement, written as those in sql/ are."""
        raise NotImplementedError


class _Psycopg:
    """What both kinds of psycopg's connections share. Cursors are made here: theirs may have another style or rows."""

    begin = "begin one with `with conn.transaction():` (async: `async with`)"
    _conn: Any

    def refusal(self) -> str | None:
        if self._conn.closed:
            return "it is closed, by this program or by the server; pass an open one"
        if self._conn.info.pipeline_status:
            return "it is in pipeline mode; enqueue outside of the pipeline() block"
        return None

    def _cursor(self, kind: str) -> Any:
        psycopg: Any = importlib.import_module("psycopg")
        return getattr(psycopg, kind)(self._conn, row_factory=psycopg.rows.tuple_row)


class PsycopgGuest(_Psycopg, PlainGuest):
    def run(self, text: str, parameters: dict[str, Any]) -> Rows:
        with self._cursor("Cursor") as cursor:
            cursor.execute(text, parameters)
            return cast(Rows, cursor.fetchall()) if cursor.description else []


class TransactionGuest(PsycopgGuest):
    """What app.transaction() gives. Its connection is another's when it has ended."""

    def __init__(self, conn: Any) -> None:
        super().__init__(conn.connection)
        self._transaction = conn

    def refusal(self) -> str | None:
        return super().refusal() if self._transaction.is_open else ENDED


class AsyncPsycopgGuest(_Psycopg, AsyncGuest):
    async def run(self, text: str, parameters: dict[str, Any]) -> Rows:
        async with self._cursor("AsyncCursor") as cursor:
            await cursor.execute(text, parameters)
            return cast(Rows, await cursor.fetchall()) if cursor.description else []


class Psycopg2Guest(PlainGuest):
    begin = "set conn.autocommit = False"

    def run(self, text: str, parameters: dict[str, Any]) -> Rows:
        plain = importlib.import_module("psycopg2.extensions").cursor
        with self._conn.cursor(cursor_factory=plain) as cursor:
            cursor.execute(text, parameters)
            return cast(Rows, cursor.fetchall()) if cursor.description else []


class AsyncpgGuest(AsyncGuest):
    begin = "begin one with `async with conn.transaction():`"

    def refusal(self) -> str | None:
        if self.key is self:
            return "it was given back to its pool; use it inside of its acquire() block"
        return "it is closed; pass an open one" if self._conn.is_closed() else None

    @property
    def key(self) -> Any:
        """A pool hands out proxies, which lose their connection when they are given back."""
        return getattr(self._conn, "_con", self._conn) or self

    async def run(self, text: str, parameters: dict[str, Any]) -> Rows:
        numbered, names = in_dollars(text)
        return [tuple(row) for row in await self._conn.fetch(numbered, *(parameters[name] for name in names))]


class _SQLAlchemy:
    """What all of SQLAlchemy's share: statements go through its own connection, which begins and logs as it does."""

    begin = 'use an engine or connection without isolation_level="AUTOCOMMIT"'
    asynchronous = False
    _conn: Any

    def refusal(self) -> str | None:
        if getattr(self._conn, "closed", False):
            return "it is closed; pass an open one"
        dialect = self._dialect
        if dialect.name != "postgresql":
            return f"it is a connection to {dialect.name}, and the store is in PostgreSQL"
        if dialect.paramstyle not in ("pyformat", "numeric_dollar"):
            return f"its driver {dialect.driver} is not supported; psycopg, asyncpg and psycopg2 are"
        if dialect.is_async and not self.asynchronous:
            return "its driver is an async one; pass the AsyncSession or AsyncConnection"
        return None

    @property
    def _dialect(self) -> Any:
        return (self._conn.get_bind() if hasattr(self._conn, "get_bind") else self._conn).dialect

    def _query(self, text: str, parameters: dict[str, Any]) -> tuple[str, Any]:
        if self._dialect.paramstyle == "pyformat":
            return text, parameters
        numbered, names = in_dollars(text)
        return numbered, tuple(parameters[name] for name in names)


class SQLAlchemyGuest(_SQLAlchemy, PlainGuest):
    def run(self, text: str, parameters: dict[str, Any]) -> Rows:
        connection = self._conn.connection() if hasattr(self._conn, "get_bind") else self._conn
        return _rows(connection.exec_driver_sql(*self._query(text, parameters)))


class AsyncSQLAlchemyGuest(_SQLAlchemy, AsyncGuest):
    asynchronous = True

    async def run(self, text: str, parameters: dict[str, Any]) -> Rows:
        connection = await self._conn.connection() if hasattr(self._conn, "get_bind") else self._conn
        return _rows(await connection.exec_driver_sql(*self._query(text, parameters)))


def _rows(result: Any) -> Rows:
    return [tuple(row) for row in result.fetchall()] if result.returns_rows else []


_KINDS: dict[str, type[PlainGuest] | type[AsyncGuest]] = {
    "penstock.PostgresTransaction": TransactionGuest,
    "psycopg.Connection": PsycopgGuest,
    "psycopg.AsyncConnection": AsyncPsycopgGuest,
    "psycopg2.connection": Psycopg2Guest,
    "asyncpg.Connection": AsyncpgGuest,
    "asyncpg.PoolConnectionProxy": AsyncpgGuest,
    "sqlalchemy.Connection": SQLAlchemyGuest,
    "sqlalchemy.Session": SQLAlchemyGuest,
    "sqlalchemy.scoped_session": SQLAlchemyGuest,
    "sqlalchemy.AsyncConnection": AsyncSQLAlchemyGuest,
    "sqlalchemy.AsyncSession": AsyncSQLAlchemyGuest,
    "sqlalchemy.async_scoped_session": AsyncSQLAlchemyGuest,
}


def accept(conn: object) -> PlainGuest | AsyncGuest:
    """The guest that joins this connection's transaction, or an error that says what can be passed."""
    for ancestor in type(conn).__mro__:
        kind = _KINDS.get(f"{ancestor.__module__.partition('.')[0]}.{ancestor.__qualname__}")
        if kind is not None:
            return kind(conn)
    raise UsageError(
        f"conn={type(conn).__module__}.{type(conn).__qualname__} cannot be used; what can be passed: {ACCEPTED}"
    )


def in_dollars(text: str) -> tuple[str, tuple[str, ...]]:
    """The statement with $1, $2, … in the order of first use, and the names of its parameters in that order."""
    query, names, _ = numbered(text)
    return query.decode(), names
