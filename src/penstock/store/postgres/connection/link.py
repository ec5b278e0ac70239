"""One connection to the server, and what is known of it.

A role says what a connection is set up for. `CLAIM` and `NOTE` may lose their newest commits in a crash of the server,
which only offers a job again; `WRITE` may not; `READ` leaves the planner free. Behind a transaction pooler nothing is
set up, because settings would land on a connection that others use next.
"""

from __future__ import annotations

import contextlib
import os
import random
import select
import socket
import time
from enum import Enum
from typing import Any
from weakref import ref

import psycopg
from psycopg import conninfo

from penstock.domain.errors import StoreVersionError
from penstock.store.postgres.connection.address import PostgresAddress
from penstock.store.postgres.connection.errors import translate
from penstock.store.postgres.connection.prepared import Prepared
from penstock.store.postgres.hot.seen import Seen

CONNECT_SECONDS = 5
PATIENCE_SECONDS = 3.0
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.05, 0.5
VERSION_MIN = 15
ENDED = ("57P01", "57P02", "57P03")
PASSING = ("the database system is", "Connection refused", "No such file", "server closed the connection unexpectedly")

# A peer that is gone is noticed by TCP; one that is there and silent, by the watch on every statement.
TCP: dict[str, str | int] = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
    "application_name": "penstock",
    "client_encoding": "utf8",
}

HELLO = """
SELECT pg_backend_pid(), current_setting('server_version_num')::integer, current_setting('server_encoding'),
    (SELECT backend_start::text FROM pg_stat_activity WHERE pid = pg_backend_pid())
"""
# Every statement must see what was committed before it, whatever the role or the database has as its default.
# Generic plans that never read a whole table: the statements are written for one plan each, and statistics of
# tables that fill and empty all the time would sooner or later suggest another.
_PLAIN = "SET default_transaction_isolation = 'read committed'"
_HOT = f"{_PLAIN}; SET enable_seqscan = off; SET plan_cache_mode = force_generic_plan; SET jit = off"
_DURABLE = """
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""


class Role(Enum):
    """What a connection is set up for."""

    CLAIM = "claims, one at a time"
    NOTE = "starts, progress and heartbeats"
    WRITE = "what must not be lost"
    READ = "reading"
    CALLER = "a transaction of the caller's"


_SETUP = {
    Role.CLAIM: f"{_HOT}; SET synchronous_commit = off",
    Role.NOTE: f"{_HOT}; SET synchronous_commit = off",
    Role.WRITE: f"{_HOT}; {_DURABLE}",
    Role.READ: f"{_PLAIN}; SET jit = off",
    Role.CALLER: _DURABLE,
}

AnyConnection = psycopg.Connection[Any] | psycopg.AsyncConnection[Any]


class Link:
    """A connection with its role, what it has seen, and whether it can be used again."""

    def __init__(self, conn: AnyConnection, role: Role) -> None:
        self.conn: Any = conn
        self.role = role
        self.pid, self.begun, self.pooled = 0, "", False
        self.prepared = Prepared(conn)
        self.seen = Seen()
        self.committing = False
        self.weak = ref(self)
        self._poll = select.poll()
        self._poll.register(conn.pgconn.socket, select.POLLIN)

    def greet(self, hello: tuple[Any, ...]) -> None:
        """What the server says of itself. One that cannot hold a store is refused."""
        self.pid, version, encoding, self.begun = hello
        self.pooled = self.pid != self.conn.info.backend_pid
        _refuse(version, encoding)

    def allow_prepared(self, wanted: bool) -> None:
        """Prepare statements, or none at all: behind a transaction pooler the next one meets another backend."""
        self.prepared.prepare = wanted and not self.pooled
        if not self.prepared.prepare:
            self.conn.prepare_threshold = None

    def usable(self) -> bool:
        """Whether it can be kept for the next: open, and in no transaction."""
        pgconn = self.conn.pgconn
        return bool(
            pgconn.status == psycopg.pq.ConnStatus.OK and pgconn.transaction_status == psycopg.pq.TransactionStatus.IDLE
        )

    def alive(self) -> bool:
        """Whether it is worth a try: usable, and the server has not hung up meanwhile, which it would have said."""
        return self.usable() and not self._poll.poll(0)

    @property
    def broken(self) -> bool:
        return bool(self.conn.pgconn.status != psycopg.pq.ConnStatus.OK)

    def abort(self) -> None:
        """Hang up, from any thread: whoever waits for an answer gets an error."""
        with (
            contextlib.suppress(OSError, psycopg.OperationalError),
            socket.socket(fileno=os.dup(self.conn.pgconn.socket)) as copy,
        ):
            copy.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.conn.pgconn.finish()


def _refuse(version: int, encoding: str) -> None:
    if version < VERSION_MIN * 10_000:
        raise StoreVersionError(
            f"the server is PostgreSQL {version // 10_000}; penstock needs {VERSION_MIN} or newer: upgrade it"
        )
    if encoding != "UTF8":
        raise StoreVersionError(
            f"the database has the encoding {encoding}, which cannot hold every payload; "
            "make one with UTF8: createdb -E UTF8 -T template0 NAME"
        )


def dsn(address: PostgresAddress) -> str:
    """What the driver gets: the address, and what it leaves open."""
    given = conninfo.conninfo_to_dict(address.conninfo)
    return conninfo.make_conninfo(address.conninfo, **{name: TCP[name] for name in TCP if name not in given})


def setup(role: Role, seconds: float) -> str:
    """The settings of a direct connection. The server gives up a little before the watch does.

    A process that is stopped in the middle of its transaction loses it, and with it the locks that others wait for.
    """
    if role is Role.CALLER:
        return _SETUP[role]
    limit = int(seconds * 1000)
    return (
        f"SET statement_timeout = {limit}; SET lock_timeout = {limit // 2}; "
        f"SET idle_in_transaction_session_timeout = {limit // 3}; {_SETUP[role]}"
    )


class Retry:
    """Attempts to connect: again and again for a short while, since servers restart; then the error as it is."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        self._ends = time.monotonic() + PATIENCE_SECONDS
        self._pause = PAUSE_SECONDS_MIN

    def pause(self, error: psycopg.Error) -> float:
        """How long to wait before the next try, or the error in penstock's words."""
        if time.monotonic() > self._ends or not _may_pass(error):
            raise translate(_with_state(error), self._address.shown) from None
        self._pause = min(self._pause * 2, PAUSE_SECONDS_MAX)
        return self._pause * (0.5 + random.random())


def _may_pass(error: psycopg.Error) -> bool:
    """A server that starts, or is not there: libpq gives no code for errors of connecting, only words."""
    if error.sqlstate is not None:
        return error.sqlstate in ENDED
    text = str(error)
    return any(words in text for words in PASSING)


_WORDS = {
    "too many clients": "53300", "remaining connection slots": "53300", "too many connections": "53300",
    "password authentication failed": "28P01", "no pg_hba.conf entry": "28000", "role": "28000",
}  # fmt: skip


def _with_state(error: psycopg.Error) -> psycopg.Error:
    """libpq gives no code for errors of connecting: known ones are told by their words."""
    text = str(error)
    if getattr(error, "sqlstate", None) is None:
        if "database" in text and "does not exist" in text:
            error.sqlstate = "3D000"
        else:
            error.sqlstate = next((state for words, state in _WORDS.items() if words in text and "FATAL" in text), None)
    return error
