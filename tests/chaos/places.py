"""Where a run has its store: a SQLite file, or a schema on a private PostgreSQL server that may be harmed."""

from __future__ import annotations

import fcntl
import os
import uuid
from pathlib import Path
from typing import Any, Literal, Protocol

import apsw

from penstock.engines import open_store
from penstock.store.contract import SqlStore
from tests.postgres.private import HOST
from tests.postgres.server import Server

EngineName = Literal["sqlite", "postgresql"]
ENGINES: tuple[EngineName, ...] = ("sqlite", "postgresql")
TABLES = ("CREATE TABLE {effects} (job TEXT, token BIGINT)", "CREATE TABLE {orders} (job TEXT PRIMARY KEY)")


class Place(Protocol):
    """`effects` and `orders` are the tables of handlers and clients, beside the jobs."""

    engine: EngineName
    effects: str
    orders: str
    taking: str
    """A statement that deletes the lease of the job :id, if it has one, and returns a row then."""

    deletion: list[str]
    """Statements that delete all else of that job, as a person would by hand."""

    def address(self, port: int | None = None, **options: str) -> str:
        """Of the store; on a server, by way of another port if there is something between."""
        ...

    def writable(self) -> bool:
        """Whether nobody holds a lock right now that keeps all others from writing."""
        ...

    def damage(self) -> str | None:
        """What the engine itself finds wrong with its files, once nobody works with them any more."""
        ...

    def close(self) -> None: ...


class SqlitePlace:
    engine: EngineName = "sqlite"
    effects = "effects"
    orders = "orders"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "jobs.db"
        job = "(SELECT seq FROM penstock_job WHERE id = :id)"
        self.taking = f"DELETE FROM penstock_lease WHERE seq = {job} RETURNING seq"
        pointers = ("ready", "scheduled", "outcome", "history")
        self.deletion = [f"DELETE FROM penstock_{table} WHERE seq = {job}" for table in pointers]
        self.deletion += ["DELETE FROM penstock_job WHERE id = :id"]

    def address(self, port: int | None = None, **options: str) -> str:
        return f"sqlite:///{self.path}"

    def writable(self) -> bool:
        """Two locks: that of SQLite itself, and the turn beside it."""
        db = apsw.Connection(str(self.path))
        turn = os.open(f"{self.path}-lock", os.O_RDONLY)
        try:
            fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            db.execute("BEGIN IMMEDIATE; ROLLBACK")
        except (apsw.BusyError, BlockingIOError):
            return False
        finally:
            os.close(turn)
            db.close()
        return True

    def damage(self) -> str | None:
        db = apsw.Connection(str(self.path))
        try:
            found = db.execute("PRAGMA integrity_check").get
        finally:
            db.close()
        return None if found == "ok" else str(found)

    def close(self) -> None:
        """The folder is somebody else's to remove."""


class PostgresPlace:
    engine: EngineName = "postgresql"

    def __init__(self, server: Server) -> None:
        self.server = server
        self.standby: Server | None = None
        """One that may take over: then the address names both, and means the one that can be written to."""
        self.database = "postgres"
        self.schema = f"chaos_{uuid.uuid4().hex}"
        self.effects = f"{self.schema}.effects"
        self.orders = f"{self.schema}.orders"
        self.taking = f"DELETE FROM {self.schema}.lease WHERE id = CAST(:id AS uuid) RETURNING id"
        tables = ("waiting", "outcome", "history", "job")
        self.deletion = [f"DELETE FROM {self.schema}.{table} WHERE id = CAST(:id AS uuid)" for table in tables]

    def address(self, port: int | None = None, **options: str) -> str:
        if self.standby is not None:
            options = {"target_session_attrs": "read-write", **options}
        address = self.server.url(self.database, schema=self.schema, **options)
        ports = [self.server.port if port is None else port, *([self.standby.port] if self.standby else ())]
        hosts = ",".join(f"{HOST}:{one}" for one in ports)
        return address.replace(f"{HOST}:{self.server.port}/", f"{hosts}/")

    def writable(self) -> bool:
        """A process that stands still inside a transaction keeps its locks."""
        held = "state LIKE 'idle in transaction%' AND application_name = 'penstock'"
        return self.rows(f"SELECT count(*) FROM pg_stat_activity WHERE {held}") == [(0,)]

    def damage(self) -> str | None:
        """A crash of the server is repaired by itself; what it cannot repair it says while the jobs are read."""
        return None

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Of a statement of the superuser's."""
        return self.server.execute(sql, *parameters)

    def close(self) -> None:
        self.server.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE")


def prepare(place: Place) -> SqlStore:
    """Make the store and its neighbours; answers a handle on it that nothing harms."""
    store = open_store(place.address())
    store.migrate()
    with store.transaction() as tx:
        for table in TABLES:
            tx.execute(table.format(effects=place.effects, orders=place.orders))
    return store
