"""A benchmark on PostgreSQL: in a schema of its own, made at the start and dropped at the end."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock.bench.machine import disk_flush_ms, median_ms
from penstock.domain.errors import ConfigError, StoreError
from penstock.store.disk import IN_MEMORY, file_system

if TYPE_CHECKING:
    import psycopg

    from penstock.bench.fresh_store import Bare
    from penstock.engines import PostgresAddress

SETTINGS = (
    "server_version", "fsync", "synchronous_commit", "full_page_writes", "wal_sync_method", "shared_buffers",
)  # fmt: skip
SAFE = ("fsync", "synchronous_commit", "full_page_writes")
ROUND_TRIPS = 100
DROP_SECONDS_MAX = 30
HERE, ELSEWHERE = "this machine", "another machine"


class FreshPostgres:
    """A schema that does not exist yet: the one that the address names, else one with a name of its own."""

    def __init__(self, parsed: PostgresAddress) -> None:
        self._parsed = parsed
        self._schema = parsed.schema if parsed.names_schema else f"penstock_bench_{secrets.token_hex(4)}"
        self.address = parsed.in_schema(self._schema)
        self._make()

    def _make(self) -> None:
        """Made here rather than by the store, so that it is certain to be ours when it is dropped."""
        from psycopg import errors, sql

        with self._connection() as db:
            try:
                db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(self._schema)))
            except errors.DuplicateSchema:
                raise ConfigError(
                    f"the schema {self._schema} exists in {self._parsed.shown}: a benchmark needs one of its own; "
                    "leave schema= out, or name one that does not exist yet"
                ) from None
            except errors.InsufficientPrivilege as error:
                raise StoreError(
                    f"{self._parsed.shown}: {_said(error)}; a benchmark makes a schema of its own: let the owner "
                    "GRANT CREATE ON DATABASE … TO this role, or name a database to play with"
                ) from None

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
        """One that commits each statement; what goes wrong with it is a store error."""
        from penstock.engines import postgres_driver

        driver = postgres_driver()
        try:
            with driver.connect(self._parsed.conninfo, autocommit=True, prepare_threshold=None) as db:
                yield db
        except driver.Error as error:
            said = f"{self._parsed.shown}: {_said(error)}"
            raise StoreError(f"{said}; is the server running, and the address right?") from None

    def settings(self) -> dict[str, Any]:
        import psycopg

        with self._connection() as db:
            found = {name: db.execute("SELECT current_setting(%s)", (name,)).fetchone() for name in SETTINGS}
            here = is_here(db.info.hostaddr)
            place = {
                "server": HERE if here else ELSEWHERE,
                "round_trip_ms": median_ms(lambda: db.execute("SELECT 1").fetchone(), ROUND_TRIPS),
                **(_disk(_data_folder(db)) if here else {}),
            }
        return {name: row[0] for name, row in found.items() if row} | {
            **place,
            "driver": f"psycopg {psycopg.__version__} ({psycopg.pq.__impl__}), libpq {psycopg.pq.version()}",
            "notify": self._parsed.notify,
            "prepare": self._parsed.prepare,
            "schema": self._schema,
        }

    def notes(self, settings: dict[str, Any]) -> list[str]:
        return notes_on(settings)

    def settle(self) -> None:
        """Fresh statistics, which autovacuum would bring within a minute: plans must not depend on its timing."""
        from psycopg import sql

        with self._connection() as db:
            for (table,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (self._schema,)):
                db.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(self._schema, table)))

    def bare(self) -> Bare:
        from penstock.bench.raw_postgres import RawPostgres

        return RawPostgres(self._parsed, self._schema)

    def remove(self) -> None:
        """Waits for what still holds a lock in it, such as a worker process that is just ending."""
        from psycopg import sql

        try:
            with self._connection() as db:
                db.execute(sql.SQL("SET lock_timeout = {}").format(sql.Literal(f"{DROP_SECONDS_MAX}s")))
                db.execute("SET client_min_messages = warning")
                db.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(self._schema)))
        except StoreError as error:
            raise StoreError(f"{error}; what is left behind goes with: DROP SCHEMA {self._schema} CASCADE") from None


def notes_on(settings: dict[str, Any]) -> list[str]:
    """What makes the figures of a server look better or worse than the store is."""
    found = []
    if off := [name for name in SAFE if settings[name] == "off"]:
        fix = "; ".join(f"ALTER SYSTEM SET {name} = on" for name in off)
        found.append(
            f"unsafe: not comparable: {' and '.join(off)} off, so a crash can lose or destroy what was stored; on a "
            f"server that holds real jobs: {fix}; then SELECT pg_reload_conf()"
        )
    if settings.get("file_system") in IN_MEMORY:
        found.append(
            f"unsafe: not comparable: the server's files are on {settings['file_system']}, in memory, where syncs cost "
            "nothing: move its data to a real disk"
        )
    if settings["server"] == ELSEWHERE:
        found.append(
            f"the server is on another machine: {settings['round_trip_ms']} ms for each round trip are in the figures; "
            "to see the server without the network, run this on its machine"
        )
    return found


def is_here(address: str) -> bool:
    """Whether an address of the network is one of this machine. A Unix socket, which is, has none."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))  # Only an own address can be taken; an empty one stands for all of them.
    except OSError:
        return False
    return True


def _data_folder(db: psycopg.Connection[tuple[Any, ...]]) -> str | None:
    """Where the server keeps its files, if this role may know."""
    from psycopg import errors

    try:
        row = db.execute("SELECT current_setting('data_directory')").fetchone()
    except errors.InsufficientPrivilege:
        return None
    return row[0] if row else None


def _disk(folder: str | None) -> dict[str, Any]:
    """The disk of the server's files, as far as it can be known without touching them.

    Nothing is written into that folder: the flush is measured in the current one, if it is on the same disk.
    """
    try:
        same = folder is not None and os.stat(folder).st_dev == os.stat(".").st_dev
    except OSError:
        return {}
    found: dict[str, Any] = {} if folder is None else {"file_system": file_system(folder) or "unknown"}
    return found | ({"disk_flush_ms": disk_flush_ms(".")} if same else {})


def _said(error: Exception) -> str:
    return " ".join(str(error).split())
