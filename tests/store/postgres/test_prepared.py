"""What the engine writes on the wire by itself arrives as what it was."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any, Self

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from penstock.store.postgres.connection.prepared import ENCODERS, Prepared
from penstock.store.postgres.connection.statements import numbered, sql_files
from penstock.store.sql.steps import Rows
from tests.postgres.private import HOST
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
def wire(conn: psycopg.Connection[Any], request: pytest.FixtureRequest) -> Prepared:
    wire = Prepared(conn)
    wire.prepare = request.param
    return wire


def ask(conn: psycopg.Connection[Any], wire: Prepared, text: str, *values: Any) -> Rows:
    return conn.wait(wire.ask(numbered(text), values))


@pytest.mark.parametrize("type_", ENCODERS)
def test_every_type_of_a_parameter_arrives_as_it_was(conn: psycopg.Connection[Any], wire: Prepared, type_: str) -> None:
    as_text = f"%(one)s::{type_}" + ("::text[]" if type_ == "uuid[]" else "::text" if type_ == "uuid" else "")

    @ONLY
    @given(st.none() | VALUES[type_])
    def arrives(value: Any) -> None:
        assert ask(conn, wire, f"SELECT {as_text}", value) == [(value,)]

    arrives()


def test_every_type_that_statements_name_can_be_written() -> None:
    for name, file in sql_files().items():
        assert set(numbered(file.read_text()).types) <= set(ENCODERS), name


def test_a_text_with_a_nul_is_refused_and_not_cut(conn: psycopg.Connection[Any], wire: Prepared) -> None:
    for type_, value in (("text", "a\x00b"), ("text[]", ["a\x00b"]), ("text[]", [None, "a\x00b"])):
        with pytest.raises(psycopg.DataError, match="NUL"):
            ask(conn, wire, f"SELECT %(one)s::{type_}", value)
    assert ask(conn, wire, "SELECT %(one)s::text", "whole") == [("whole",)]


def test_an_error_of_the_server_names_its_state_and_leaves_the_connection_usable(
    conn: psycopg.Connection[Any], wire: Prepared
) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        ask(conn, wire, "SELECT 1 / %(one)s::integer", 0)
    with pytest.raises(psycopg.errors.UndefinedTable):
        ask(conn, wire, "SELECT * FROM missing WHERE one = %(one)s::integer", 0)
    assert ask(conn, wire, "SELECT 1 / %(one)s::integer", 1) == [(1,)]


def test_a_statement_is_prepared_once(conn: psycopg.Connection[Any]) -> None:
    wire = Prepared(conn)
    wire.prepare = True
    for number in range(3):
        assert ask(conn, wire, "SELECT %(one)s::bigint", number) == [(number,)]
    assert conn.execute("SELECT statement FROM pg_prepared_statements").fetchall() == [("SELECT $1::bigint",)]


# A backend that is ended between its answer and its commit

SYNC, FLUSH = b"S\0\0\0\4", b"H\0\0\0\4"
"""What a client says last of a statement, which commits it, and what only asks for the answer."""


class Between:
    """The network to the server. Once it is `holding`, it does not let a statement be committed."""

    def __init__(self) -> None:
        self.holding = False
        self.answered = threading.Event()
        self._listener = socket.create_server((HOST, 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        client, _ = self._listener.accept()
        with client, socket.create_connection((HOST, shared(18).port)) as server:
            back = threading.Thread(target=self._answer, args=(server, client))
            back.start()
            while data := client.recv(65536):
                server.sendall(data.replace(SYNC, FLUSH) if self.holding else data)
            server.shutdown(socket.SHUT_WR)
            back.join()

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        while data := server.recv(65536):
            client.sendall(data)
            if self.holding:
                self.answered.set()
        client.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("prepare", [True, False], ids=["prepared", "sent whole"])
def test_an_answer_before_the_end_of_the_backend_is_not_taken_for_done(prepare: bool) -> None:
    with (
        Between() as between,
        psycopg.connect(shared(18).url(), port=between.port, sslmode="disable", autocommit=True) as conn,
    ):
        wire = Prepared(conn)
        wire.prepare = prepare
        assert ask(conn, wire, "SELECT %(one)s::integer", 1) == [(1,)]
        pid = conn.info.backend_pid
        between.holding = True

        def end() -> None:
            assert between.answered.wait(30)
            shared(18).execute("SELECT pg_terminate_backend(%s)", pid)

        ending = threading.Thread(target=end)
        ending.start()
        with pytest.raises(psycopg.OperationalError, match="administrator command") as caught:
            ask(conn, wire, "SELECT %(one)s::integer", 2)
        ending.join()
        assert caught.value.sqlstate is None  # With a state it would count as not done.
        assert conn.closed
