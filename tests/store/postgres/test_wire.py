"""What the engine writes on the wire by itself arrives as what it was."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from penstock.store.postgres.statements import numbered
from penstock.store.postgres.steps import Rows
from penstock.store.postgres.wire import ENCODERS, Wire
from tests.postgres.server import shared

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
BIG = st.integers(-(2**63), 2**63 - 1)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "text": TEXTS,
    "uuid": st.uuids().map(str),
    "bigint": BIG,
    "integer": st.integers(-(2**31), 2**31 - 1),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "boolean": st.booleans(),
}
VALUES |= {
    f"{type_}[]": st.lists(st.none() | one, max_size=8)
    for type_, one in {**VALUES, "smallint": st.integers(-(2**15), 2**15 - 1)}.items()
}
ONLY = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def conn() -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shared(18).url(), autocommit=True) as conn:
        yield conn


@pytest.fixture(params=[True, False], ids=["prepared", "sent whole"])
def wire(conn: psycopg.Connection[Any], request: pytest.FixtureRequest) -> Wire:
    wire = Wire(conn)
    wire.prepare = request.param
    return wire


def ask(conn: psycopg.Connection[Any], wire: Wire, text: str, *values: Any) -> Rows:
    return conn.wait(wire.ask(numbered(text), values))


@pytest.mark.parametrize("type_", ENCODERS)
def test_every_type_of_a_parameter_arrives_as_it_was(conn: psycopg.Connection[Any], wire: Wire, type_: str) -> None:
    as_text = f"%(one)s::{type_}" + ("::text[]" if type_ == "uuid[]" else "::text" if type_ == "uuid" else "")

    @ONLY
    @given(st.none() | VALUES[type_])
    def arrives(value: Any) -> None:
        assert ask(conn, wire, f"SELECT {as_text}", value) == [(value,)]

    arrives()


def test_every_type_that_statements_name_can_be_written() -> None:
    for path in files("penstock.store.postgres").joinpath("sql").iterdir():
        assert set(numbered(path.read_text()).types) <= set(ENCODERS), path.name


def test_a_text_with_a_nul_is_refused_and_not_cut(conn: psycopg.Connection[Any], wire: Wire) -> None:
    for type_, value in (("text", "a\x00b"), ("text[]", ["a\x00b"]), ("text[]", [None, "a\x00b"])):
        with pytest.raises(psycopg.DataError, match="NUL"):
            ask(conn, wire, f"SELECT %(one)s::{type_}", value)
    assert ask(conn, wire, "SELECT %(one)s::text", "whole") == [("whole",)]


def test_an_error_of_the_server_names_its_state_and_leaves_the_connection_usable(
    conn: psycopg.Connection[Any], wire: Wire
) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        ask(conn, wire, "SELECT 1 / %(one)s::integer", 0)
    with pytest.raises(psycopg.errors.UndefinedTable):
        ask(conn, wire, "SELECT * FROM missing WHERE one = %(one)s::integer", 0)
    assert ask(conn, wire, "SELECT 1 / %(one)s::integer", 1) == [(1,)]


def test_a_statement_is_prepared_once(conn: psycopg.Connection[Any]) -> None:
    wire = Wire(conn)
    wire.prepare = True
    for number in range(3):
        assert ask(conn, wire, "SELECT %(one)s::bigint", number) == [(number,)]
    assert conn.execute("SELECT statement FROM pg_prepared_statements").fetchall() == [("SELECT $1::bigint",)]
