"""Callers with a transaction of their own on every kind of connection that can be passed as conn=."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from typing import Any

import asyncpg
import psycopg
import sqlalchemy
from sqlalchemy import orm
from sqlalchemy.ext import asyncio as sqlalchemy_asyncio

from penstock.store.call import Call

psycopg2: Any = importlib.import_module("psycopg2")  # Without type hints of its own.


class Caller:
    """Somebody who works in the database. The plain ones block, which nobody notices in a test."""

    asynchronous = False

    def __init__(self, conn: Any) -> None:
        self.conn = conn

    async def begin(self) -> None:
        """Most connections begin by themselves, with the first statement."""

    async def execute(self, sql: str) -> None:
        self.conn.execute(sql)

    async def commit(self) -> None:
        self.conn.commit()

    async def rollback(self) -> None:
        self.conn.rollback()

    async def close(self) -> None:
        self.conn.close()

    async def carry_out(self, call: Call[Any]) -> Any:
        return call.wait()


class AsyncCaller(Caller):
    asynchronous = True

    async def execute(self, sql: str) -> None:
        await self.conn.execute(sql)

    async def commit(self) -> None:
        await self.conn.commit()

    async def rollback(self) -> None:
        await self.conn.rollback()

    async def close(self) -> None:
        await self.conn.close()

    async def carry_out(self, call: Call[Any]) -> Any:
        return await call


class Psycopg2Caller(Caller):
    async def execute(self, sql: str) -> None:
        with self.conn.cursor() as cursor:
            cursor.execute(sql)


class AsyncpgCaller(AsyncCaller):
    async def begin(self) -> None:
        self.transaction = self.conn.transaction()
        await self.transaction.start()

    async def commit(self) -> None:
        await self.transaction.commit()

    async def rollback(self) -> None:
        await self.transaction.rollback()


class PooledAsyncpgCaller(AsyncpgCaller):
    def __init__(self, conn: Any, pool: Any) -> None:
        super().__init__(conn)
        self.pool = pool

    async def close(self) -> None:
        await self.pool.release(self.conn)


class SQLAlchemyCaller(Caller):
    async def execute(self, sql: str) -> None:
        self.conn.execute(sqlalchemy.text(sql))


class AsyncSQLAlchemyCaller(AsyncCaller):
    async def execute(self, sql: str) -> None:
        await self.conn.execute(sqlalchemy.text(sql))


Open = Callable[[str, bool], AsyncIterator[Caller]]


async def _psycopg(url: str, autocommit: bool) -> AsyncIterator[Caller]:
    with psycopg.connect(url, autocommit=autocommit) as conn:
        yield Caller(conn)


async def _psycopg_async(url: str, autocommit: bool) -> AsyncIterator[Caller]:
    async with await psycopg.AsyncConnection.connect(url, autocommit=autocommit) as conn:
        yield AsyncCaller(conn)


async def _psycopg2(url: str, autocommit: bool) -> AsyncIterator[Caller]:
    conn = psycopg2.connect(url)
    conn.autocommit = autocommit
    with closing(conn):
        yield Psycopg2Caller(conn)


async def _asyncpg(url: str, autocommit: bool) -> AsyncIterator[Caller]:
    conn = await asyncpg.connect(url)
    try:
        yield AsyncCaller(conn) if autocommit else AsyncpgCaller(conn)
    finally:
        await conn.close()


async def _asyncpg_pool(url: str, autocommit: bool) -> AsyncIterator[Caller]:
    async with asyncpg.create_pool(url, min_size=1, max_size=1) as pool:
        conn = await pool.acquire()
        try:
            yield AsyncCaller(conn) if autocommit else PooledAsyncpgCaller(conn, pool)
        finally:
            await pool.release(conn)


def _engine_options(autocommit: bool) -> dict[str, Any]:
    return {"poolclass": sqlalchemy.NullPool, **({"isolation_level": "AUTOCOMMIT"} if autocommit else {})}


def _driver(url: str, driver: str) -> str:
    return url.replace("postgresql:", f"postgresql+{driver}:")


def _sqlalchemy(driver: str, make: Callable[[Any], Any]) -> Open:
    async def open_one(url: str, autocommit: bool) -> AsyncIterator[Caller]:
        engine = sqlalchemy.create_engine(_driver(url, driver), **_engine_options(autocommit))
        with make(engine) as conn:
            yield SQLAlchemyCaller(conn)

    return open_one


def _sqlalchemy_async(driver: str, make: Callable[[Any], Any]) -> Open:
    async def open_one(url: str, autocommit: bool) -> AsyncIterator[Caller]:
        engine = sqlalchemy_asyncio.create_async_engine(_driver(url, driver), **_engine_options(autocommit))
        async with make(engine) as conn:
            yield AsyncSQLAlchemyCaller(conn)

    return open_one


def _connect(engine: Any) -> Any:
    return engine.connect()


KINDS: dict[str, Open] = {
    "psycopg": _psycopg,
    "psycopg async": _psycopg_async,
    "psycopg2": _psycopg2,
    "asyncpg": _asyncpg,
    "asyncpg pool": _asyncpg_pool,
    "SQLAlchemy Connection, psycopg": _sqlalchemy("psycopg", _connect),
    "SQLAlchemy Connection, psycopg2": _sqlalchemy("psycopg2", _connect),
    "SQLAlchemy Session, psycopg": _sqlalchemy("psycopg", orm.Session),
    "SQLAlchemy Session, psycopg2": _sqlalchemy("psycopg2", orm.Session),
    "SQLAlchemy AsyncConnection, psycopg": _sqlalchemy_async("psycopg", _connect),
    "SQLAlchemy AsyncConnection, asyncpg": _sqlalchemy_async("asyncpg", _connect),
    "SQLAlchemy AsyncSession, psycopg": _sqlalchemy_async("psycopg", sqlalchemy_asyncio.AsyncSession),
    "SQLAlchemy AsyncSession, asyncpg": _sqlalchemy_async("asyncpg", sqlalchemy_asyncio.AsyncSession),
}
SESSIONS = {kind for kind in KINDS if "Session" in kind}  # A closed one begins anew at its next use.

opened = {kind: asynccontextmanager(open_one) for kind, open_one in KINDS.items()}
