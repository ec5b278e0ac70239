"""schema.sql and functions/ say what is in the schema: what the migrations come to, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

import psycopg
import pytest

from penstock.store.postgres.connection.statements import ENGINE, in_schema, migrations
from tests.postgres.binaries import VERSIONS
from tests.postgres.server import shared

HERE = files(ENGINE)
MIGRATED, WRITTEN = "schema_migrated", "schema_written"

COLUMNS = """
SELECT class.relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, collname,
    pg_get_expr(adbin, adrelid)
FROM pg_attribute
JOIN pg_class AS class ON class.oid = attrelid AND relkind = 'r' AND relnamespace = to_regnamespace(%(schema)s)
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
LEFT JOIN pg_collation ON pg_collation.oid = attcollation
WHERE attnum > 0 AND NOT attisdropped
"""
CONSTRAINTS = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = to_regnamespace(%(schema)s) AND contype <> 'n'
"""
INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = %(schema)s"
SEQUENCES = """
SELECT sequencename, data_type::text, start_value, increment_by FROM pg_sequences WHERE schemaname = %(schema)s
"""
FUNCTIONS = """
SELECT proname, pg_get_functiondef(oid), obj_description(oid) FROM pg_proc
WHERE pronamespace = to_regnamespace(%(schema)s)
"""
OTHERS = """
SELECT relkind, relname, reloptions::text, obj_description(oid) FROM pg_class
WHERE relnamespace = to_regnamespace(%(schema)s)
UNION ALL
SELECT 't', tgname, pg_get_triggerdef(oid), NULL FROM pg_trigger
WHERE tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace(%(schema)s)) AND NOT tgisinternal
"""
VIEWS = "SELECT viewname, definition FROM pg_views WHERE schemaname = %(schema)s"
CATALOGUE = (COLUMNS, CONSTRAINTS, INDEXES, SEQUENCES, FUNCTIONS, OTHERS, VIEWS)

Said = set[tuple[str, ...]]


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: f"postgresql-{version}")
def conn(request: pytest.FixtureRequest) -> Iterator[psycopg.Connection]:
    """Of a transaction in which both are made, and which is undone."""
    conn = shared(request.param).connect()
    conn.autocommit = False
    conn.execute("SET check_function_bodies = off")  # They name each other, and stand in the order of their names.
    for schema in (MIGRATED, WRITTEN):
        conn.execute(f"CREATE SCHEMA {schema}".encode())
    for _, _, text in migrations(MIGRATED):
        conn.execute(text.encode())
    for text in (schema_text(), *functions().values()):
        conn.execute(in_schema(text, WRITTEN).encode())
    yield conn
    conn.rollback()
    conn.close()


def schema_text() -> str:
    return (HERE / "schema.sql").read_text("utf-8")


def functions() -> dict[str, str]:
    return {file.name.removesuffix(".sql"): file.read_text("utf-8") for file in (HERE / "functions").iterdir()}


def found(conn: psycopg.Connection, question: str, schema: str) -> Said:
    rows = conn.execute(question.encode(), {"schema": schema})
    return {tuple(" ".join(str(value).replace(schema, "penstock").split()) for value in row) for row in rows}


@pytest.mark.parametrize("question", CATALOGUE)
def test_an_empty_store_is_migrated_to_what_the_schema_says(conn: psycopg.Connection, question: str) -> None:
    migrated, written = found(conn, question, MIGRATED), found(conn, question, WRITTEN)
    assert migrated
    assert migrated == written


def test_rows_that_a_new_store_has(conn: psycopg.Connection) -> None:
    tables = set(re.findall(r"^INSERT INTO penstock\.(\w+)", schema_text(), re.MULTILINE))
    assert tables == {"order_number"}
    for table in re.findall(r"^CREATE TABLE penstock\.(\w+)", schema_text(), re.MULTILINE):
        rows = [conn.execute(f"SELECT * FROM {schema}.{table}".encode()).fetchall() for schema in (MIGRATED, WRITTEN)]
        assert rows[0] == rows[1]
        assert bool(rows[0]) == (table in tables)


def test_each_function_is_in_the_file_of_its_name(conn: psycopg.Connection) -> None:
    there = {name for name, *_ in found(conn, FUNCTIONS, WRITTEN)}
    assert there == set(functions())
    for name, text in functions().items():
        assert re.findall(r"^CREATE OR REPLACE FUNCTION penstock\.(\w+)", text, re.MULTILINE) == [name]


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE need",
        "ALTER TABLE need ADD COLUMN more text",
        "ALTER TABLE job ALTER COLUMN created_at DROP NOT NULL",
        "ALTER TABLE job ALTER COLUMN crashes SET DEFAULT 1",
        'ALTER TABLE waiting ALTER COLUMN org TYPE text COLLATE "POSIX"',
        "ALTER TABLE waiting RESET (autovacuum_vacuum_threshold)",
        "ALTER TABLE worker ALTER COLUMN session SET INCREMENT 2",
        "DROP INDEX worker_alive",
        "DROP FUNCTION moment(bigint)",
        "ALTER FUNCTION moment(bigint) IMMUTABLE",
        "ALTER TABLE pause DROP CONSTRAINT pause_kind_check",
    ],
)
def test_whatever_differs_is_noticed(conn: psycopg.Connection, change: str) -> None:
    with conn.transaction(force_rollback=True):
        conn.execute(f"SET LOCAL search_path = {WRITTEN}; {change}".encode())
        differ = [
            question for question in CATALOGUE if found(conn, question, MIGRATED) != found(conn, question, WRITTEN)
        ]
    assert differ
