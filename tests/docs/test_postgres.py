"""docs/postgres.md says what the code does: options of the address, tables, rights, and the names of errors."""

from __future__ import annotations

import re
from dataclasses import fields

import penstock
from penstock.domain.duration import format_duration
from penstock.store.postgres.admin.grants import RIGHTS, SEQUENCES
from penstock.store.postgres.connection.address import PostgresAddress, parse
from tests.docs.pages import ROOT

TEXT = (ROOT / "docs" / "postgres.md").read_text(encoding="utf-8")


def rows(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    table = re.search(rf"^## {heading}$.*?^\| ---[^\n]*\n(.*?)\n(?!\|)", TEXT, flags=re.MULTILINE | re.DOTALL)
    assert table, f"there is no table below {heading!r}"
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


def names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_the_options_of_an_address_and_their_defaults() -> None:
    address = parse("postgresql://host/jobs")
    shown = {
        field.name: getattr(address, field.name)
        for field in fields(PostgresAddress)
        if field.name not in ("conninfo", "shown")
    }
    written = {True: "on", False: "off", address.timeout: format_duration(address.timeout)}
    assert {names(row[0])[0]: names(row[1])[0] for row in rows("The address")} == {
        name: str(written.get(value, value)) for name, value in shown.items()
    }


def test_every_table_is_explained() -> None:
    explained = [name for row in rows("What is stored where") for name in names(row[0])]
    assert sorted(explained) == sorted(table for tables in RIGHTS.values() for table in tables)


def test_the_rights_are_those_that_are_granted() -> None:
    listed = {(name, row[1]) for row in rows("Rights") for name in names(row[0])}
    granted = {(name, rights) for what in (RIGHTS, SEQUENCES) for rights, found in what.items() for name in found}
    assert listed == granted


def test_the_errors_of_bad_days_exist() -> None:
    named = {name for row in rows("Bad days") for name in names(row[1]) if re.fullmatch(r"[A-Z][a-zA-Z]+", name)}
    assert named
    assert named <= set(penstock.__all__)
