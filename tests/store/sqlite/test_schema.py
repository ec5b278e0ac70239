"""schema.sql says what is in the file: the tables that the migrations come to, and no others."""

from __future__ import annotations

import re
from importlib.resources import files

import apsw
import pytest

from penstock.store.sqlite.connection.statements import ENGINE, migrations

Made = dict[str, tuple[str, ...]]
"""What is there, by its name: how it is said, in parts whose order means nothing."""

_TABLE = re.compile(r"(CREATE TABLE \w+) \((.*)\)( STRICT.*)", re.DOTALL)


def made_by(*texts: str) -> Made:
    db = apsw.Connection(":memory:")
    for text in texts:
        db.execute(text)
    found = db.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'")
    return {str(name): parts(str(sql)) for name, sql in found.fetchall()}


def parts(sql: str) -> tuple[str, ...]:
    """Of a table its columns and constraints; all else whole. Comments, quotes and spaces are left out."""
    text = " ".join(re.sub(r"--.*", "", sql).replace('"', "").split())
    table = _TABLE.fullmatch(text)
    if table is None:
        return (text,)
    return (table[1], table[3].strip(), *sorted(part.strip() for part in re.split(r",(?![^(]*\))", table[2])))


def schema() -> str:
    return (files(ENGINE) / "schema.sql").read_text("utf-8")


def test_an_empty_store_is_migrated_to_what_the_schema_says() -> None:
    assert made_by(*(text for _, _, text in migrations())) == made_by(schema())


def test_rows_that_a_new_store_has() -> None:
    tables = re.findall(r"^INSERT INTO (\w+)", schema(), re.MULTILINE)
    db = apsw.Connection(":memory:")
    for _, _, text in migrations():
        db.execute(text)
    assert {name for name in made_by(schema()) if _rows(db, name)} == {"penstock_meta", *tables}


def _rows(db: apsw.Connection, name: str) -> bool:
    [[kind]] = db.execute("SELECT type FROM sqlite_schema WHERE name = ?", (name,)).fetchall()
    return kind == "table" and bool(db.execute(f"SELECT count(*) FROM {name}").get)


@pytest.mark.parametrize(
    "change",
    [
        "DROP INDEX penstock_worker_id",
        "DROP TRIGGER penstock_lane_stamp",
        "DROP TABLE penstock_need",
        "CREATE TABLE penstock_more (x TEXT) STRICT",
        "ALTER TABLE penstock_need ADD COLUMN more INTEGER",
        "ALTER TABLE penstock_job DROP COLUMN snoozes",
        "ALTER TABLE penstock_worker RENAME COLUMN pid TO process_id",
    ],
)
def test_whatever_differs_is_noticed(change: str) -> None:
    assert made_by(schema(), change) != made_by(schema())


@pytest.mark.parametrize(
    ("written", "other"),
    [
        ("state INTEGER NOT NULL,", "state INTEGER,"),
        ("crashes INTEGER NOT NULL DEFAULT 0", "crashes INTEGER NOT NULL DEFAULT 1"),
        ("AUTOINCREMENT", ""),
        ("CHECK (id = 1)", ""),
        ("priority DESC, due_at, seq)", "priority, due_at, seq)"),
        ("WHERE status = 'active' AND next_at", "WHERE next_at"),
        ("STRICT, WITHOUT ROWID", "STRICT"),
        ("result TEXT", "result BLOB"),
    ],
)
def test_whatever_is_written_otherwise_is_noticed(written: str, other: str) -> None:
    assert written in schema()
    assert made_by(schema().replace(written, other)) != made_by(schema())
