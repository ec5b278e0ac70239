"""A benchmark on PostgreSQL: in a schema of its own, made at the start and dropped at the end."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from penstock.domain.errors import ConfigError, StoreError

if TYPE_CHECKING:
    import psycopg

    from penstock.cli.bench.place import Bare
    from penstock.store.open import PostgresAddress

SETTINGS = ("server_version", "synchronous_commit", "fsync", "shared_buffers")
DROP_SECONDS_MAX = 30


class PostgresPlace:
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
        from penstock.store.open import postgres_driver

        driver = postgres_driver()
        try:
            with driver.connect(self._parsed.conninfo, autocommit=True) as db:
                yield db
        except driver.Error as error:
            said = f"{self._parsed.shown}: {_said(error)}"
            raise StoreError(f"{said}; is the server running, and the address right?") from None

    def settings(self) -> dict[str, Any]:
        import psycopg

        with self._connection() as db:
            found = {name: db.execute("SELECT current_setting(%s)", (name,)).fetchone() for name in SETTINGS}
        return {name: row[0] for name, row in found.items() if row} | {
            "driver": f"psycopg {psycopg.__version__} ({psycopg.pq.__impl__}), libpq {psycopg.pq.version()}",
            "schema": self._schema,
        }

    def settle(self) -> None:
        """Fresh statistics, which autovacuum would bring within a minute: plans must not depend on its timing."""
        from psycopg import sql

        with self._connection() as db:
            for (table,) in db.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", (self._schema,)):
                db.execute(sql.SQL("ANALYZE {}").format(sql.Identifier(self._schema, table)))

    def bare(self) -> Bare:
        from penstock.cli.bench.raw_postgres import RawPostgres

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


def _said(error: Exception) -> str:
    return " ".join(str(error).split())
