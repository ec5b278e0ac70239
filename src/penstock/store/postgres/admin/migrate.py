"""The schema and its versions. Each migration works while older and newer programs run beside it.

`oldest` in the table meta is the oldest version whose statements still work: a program is refused only when the
store has moved past it.
"""

from __future__ import annotations

import re
import time
from typing import Any

import psycopg

from penstock.domain.errors import NotAStore, StoreMissing, StoreVersionError
from penstock.store.contract import MigrationStatus
from penstock.store.postgres.connection.address import PostgresAddress
from penstock.store.postgres.connection.statements import in_schema, migrations, quoted

LOCK_SECONDS = 10
PAUSES = (0.1, 0.5, 1.0, 2.0)
"""Seconds between the tries of a migration that others are in the way of."""
NO_VERSION = (
    "its table meta does not say of which version: somebody has changed the tables by hand, or this is a part of a copy"
)
_OLDEST = re.compile(r"^-- oldest: (\d+)$", re.MULTILINE)


def status(conn: psycopg.Connection[Any], schema: str) -> MigrationStatus:
    """The version of the store and what is pending. Changes nothing."""
    known = migrations(schema)
    there = _exists(conn, schema, "meta")
    if there is None and _exists(conn, schema, "job") is not None:
        raise NotAStore(f"the schema {schema!r} has a table job that is not penstock's; use another: ?schema=NAME")
    current = 0 if there is None else _read(conn, schema).get("schema_version", 0)
    if there is not None and current < 1:
        raise NotAStore(f"the schema {schema!r} holds a store, but {NO_VERSION}; {version_again(schema)}")
    return MigrationStatus(current, known[-1][0], [name for version, name, _ in known if version > current])


def version_again(schema: str) -> str:
    """What to do with a store that does not say which version it has."""
    version, _, text = migrations(schema)[-1]
    return (
        "restore a backup, or, if this version of penstock was the last to migrate it, put the version back: "
        f"{_note(schema, version, text)}"
    )


def latest(schema: str) -> int:
    """The newest version that this penstock knows."""
    return migrations(schema)[-1][0]


def _exists(conn: psycopg.Connection[Any], schema: str, table: str) -> Any:
    found = conn.execute(
        "SELECT 1 FROM pg_class JOIN pg_namespace AS owner ON owner.oid = relnamespace "
        "WHERE nspname = %s AND relname = %s",
        (schema, table),
    )
    return found.fetchone()


def _read(conn: psycopg.Connection[Any], schema: str) -> dict[str, int]:
    return dict(conn.execute(in_schema("SELECT key, value FROM penstock.meta", schema)).fetchall())


def refuse_unfit(conn: psycopg.Connection[Any], address: PostgresAddress, found: MigrationStatus) -> None:
    """An error unless this version of penstock can work with the store as it is."""
    if found.current == 0:
        raise StoreMissing(
            f"{address.shown}: there is no store in the schema {address.schema!r}; make it with: penstock migrate"
        )
    if found.current < found.latest:
        raise StoreVersionError(
            f"{address.shown}: the store has version {found.current} and this penstock needs {found.latest}; "
            "run: penstock migrate (programs of the old version go on working)"
        )
    oldest = _read(conn, address.schema).get("oldest", 0)
    if oldest > found.latest:
        raise StoreVersionError(
            f"{address.shown}: the store has version {found.current}, which needs a penstock that knows version "
            f"{oldest}; this one knows {found.latest}: upgrade penstock"
        )


def migration_script(schema: str, current: int) -> str:
    """What brings a store from a version to the latest, as a person would run it."""
    if current >= latest(schema):
        return ""
    parts = ["BEGIN;", _begin(schema)]
    for version, name, text in migrations(schema):
        if version > current:
            parts += [f"-- {name}", text.strip(), _note(schema, version, text)]
    return "\n\n".join([*parts, "COMMIT;", ""])


def migrate(conn: psycopg.Connection[Any], schema: str) -> MigrationStatus:
    """Apply what is pending; answers the status from before. Many may do so at once: they wait for each other.

    It locks tables that others are using, in an order of its own: where the server ends it for that, it begins again.
    """
    for pause in PAUSES:
        try:
            return _migrate(conn, schema)
        except psycopg.errors.DeadlockDetected:
            time.sleep(pause)
    return _migrate(conn, schema)


def _migrate(conn: psycopg.Connection[Any], schema: str) -> MigrationStatus:
    with conn.transaction():
        conn.execute(_begin(schema).encode(), prepare=False)
        before = status(conn, schema)
        for version, _, text in migrations(schema):
            if version > before.current:
                conn.execute(text.encode(), prepare=False)
                conn.execute(_note(schema, version, text).encode(), prepare=False)
    return before


def _begin(schema: str) -> str:
    create = f"CREATE SCHEMA IF NOT EXISTS {quoted(schema)};"
    return "\n".join([
        f"SET LOCAL lock_timeout = '{LOCK_SECONDS}s';",
        f"SELECT pg_advisory_xact_lock(hashtext('penstock migrate {schema}'));",
        # A role that may not create schemas can still migrate one that was made for it.
        f"DO $$ BEGIN IF to_regnamespace('{quoted(schema)}') IS NULL THEN {create} END IF; END $$;",
    ])  # fmt: skip


def _note(schema: str, version: int, text: str) -> str:
    named = _OLDEST.search(text)
    oldest = int(named[1]) if named else version
    values = f"('schema_version', {version}), ('oldest', {oldest})"
    return in_schema(
        f"INSERT INTO penstock.meta VALUES {values} ON CONFLICT (key) DO UPDATE SET value = excluded.value;", schema
    )
