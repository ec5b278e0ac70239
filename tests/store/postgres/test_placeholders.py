"""SQLite's placeholders for psycopg: what is a placeholder, and what only looks like one."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from hypothesis import given, strategies as st

from penstock.domain.errors import UsageError
from penstock.store.postgres.callers.placeholders import convert
from tests.postgres.server import shared

COUNTED = {
    "INSERT INTO orders VALUES (?, ?)": "INSERT INTO orders VALUES (%s, %s)",
    "SELECT ?::text": "SELECT %s::text",
    "SELECT 'why?', ?": "SELECT 'why?', %s",
    "SELECT 'it''s ?', ?": "SELECT 'it''s ?', %s",
    r"SELECT E'it\'s ?', ?": r"SELECT E'it\'s ?', %s",
    r"SELECT '\', ?": r"SELECT '\', %s",
    'SELECT "a ""quoted"" ?" FROM t WHERE x = ?': 'SELECT "a ""quoted"" ?" FROM t WHERE x = %s',
    "SELECT $$a ? b$$, ?": "SELECT $$a ? b$$, %s",
    "SELECT $x$a $$ ? $y$ b$x$, ?": "SELECT $x$a $$ ? $y$ b$x$, %s",
    "SELECT a$b$ FROM t WHERE c = ? AND d$b$ = ?": "SELECT a$b$ FROM t WHERE c = %s AND d$b$ = %s",
    "SELECT ? -- really?\n, ?": "SELECT %s -- really?\n, %s",
    "SELECT ? /* really? /* ? */ ? */, ?": "SELECT %s /* really? /* ? */ ? */, %s",
    "SELECT ? /* without an end ?": "SELECT %s /* without an end ?",
    "SELECT ? || 'x'": "SELECT %s || 'x'",
    "SELECT data ?| keys, data ?& keys, ?": "SELECT data ?| keys, data ?& keys, %s",
    "SELECT ?||?": "SELECT %s||%s",
    "SELECT 7 % 3, 'a%', ?": "SELECT 7 %% 3, 'a%%', %s",
    "SELECT 10 %sum(x), ?": "SELECT 10 %%sum(x), %s",
    "SELECT ?, 'without an end ?": "SELECT %s, 'without an end ?",
    "SELECT a[1:n], ?": "SELECT a[1:n], %s",
}
NAMED = {
    "SELECT :a": "SELECT %(a)s",
    "SELECT :a, :b, :a": "SELECT %(a)s, %(b)s, %(a)s",
    "SELECT :a::text, b::text": "SELECT %(a)s::text, b::text",
    "SELECT 'a :b %' || :a": "SELECT 'a :b %%' || %(a)s",
    "SELECT x[:n], x[1:n], x[:a], x[1:a], x[f(1) : a]": "SELECT x[:n], x[1:n], x[%(a)s], x[1:a], x[f(1) : a]",
    "SELECT make_interval(days := :a)": "SELECT make_interval(days := %(a)s)",
    "SELECT data ? 'key', :a": "SELECT data ? 'key', %(a)s",
}
DRIVERS_OWN = ["SELECT %s, 'a%%'", "SELECT data ? %s", "SELECT x::text, %(a)s, y[1:n]"]


@pytest.mark.parametrize("sql", COUNTED)
def test_a_question_mark_is_a_placeholder_where_sql_has_no_other_use_for_it(sql: str) -> None:
    assert convert(sql, (1,)) == (COUNTED[sql], (1,))


@pytest.mark.parametrize("sql", NAMED)
def test_a_name_after_a_colon_is_a_placeholder(sql: str) -> None:
    bindings = {"a": 1, "b": 2}
    assert convert(sql, bindings) == (NAMED[sql], bindings)


@pytest.mark.parametrize("sql", DRIVERS_OWN)
def test_the_drivers_own_style_is_left_as_it_is(sql: str) -> None:
    assert convert(sql, (1,)) == (sql, (1,))
    assert convert(sql, {"a": 1}) == (sql, {"a": 1})


@pytest.mark.parametrize("sql", [*COUNTED, *NAMED, "SELECT '100%'"])
@pytest.mark.parametrize("nothing", [(), [], {}])
def test_without_bindings_nothing_is_a_placeholder(sql: str, nothing: Any) -> None:
    assert convert(sql, nothing) == (sql, None)


def test_a_name_without_a_value_is_told() -> None:
    with pytest.raises(UsageError, match=r"names :price, which its bindings do not have: a, b"):
        convert("SELECT :a, :price", {"a": 1, "b": 2})


def test_a_number_after_the_mark_is_told() -> None:
    with pytest.raises(UsageError, match=r"\?2 has a number, which only SQLite knows"):
        convert("SELECT ?1, ?2".replace("?1", "?"), (1, 2))


TEXTS = st.sampled_from(["? :a %", "it''s", "%s", "$$", "--", "/*", "a", ""])
PIECES = st.one_of(
    st.tuples(st.just("?"), st.just("%s")),
    st.sampled_from(["'{}'", '"x{}"', "$q${}$q$", "/*{}*/", "/* /*{}*/ */", "--{}\n", "E'{}'"]).flatmap(
        lambda form: TEXTS.filter(lambda text: not ("/*" in (text, form[:2]) and "*" in text)).map(
            lambda text: (form.format(text), form.format(text).replace("%", "%%"))
        )
    ),
    st.sampled_from(
        [("x::text", "x::text"), ("a % b", "a %% b"), ("?| y", "?| y"), ("a:b", "a:b"), ("[1:n]", "[1:n]")]
    ),
)


@given(st.lists(PIECES, min_size=1))
def test_any_mixture_is_taken_apart(pieces: list[tuple[str, str]]) -> None:
    sql = " , ".join(before for before, _ in pieces)
    assert convert(sql, (1,))[0] == " , ".join(after for _, after in pieces)


LITERALS = st.text(alphabet="a'\"\\%?:$-/*[]&| \n", max_size=12)


@pytest.fixture(scope="module")
def connection() -> Any:
    with shared(18).connect() as connection:
        yield connection


@given(literal=LITERALS, value=LITERALS, comment=LITERALS)
def test_the_server_sees_the_same(
    connection: psycopg.Connection[tuple[Any, ...]], literal: str, value: str, comment: str
) -> None:
    """Literals, in each of the three ways to write one, and bound values come back as they were."""
    note = comment.replace("\n", " ")
    quoted = literal.replace("'", "''")
    escaped = literal.replace("\\", "\\\\").replace("'", "\\'")
    sql = f"SELECT '{quoted}', E'{escaped}', $x${literal}$x$, ?::text -- {note}\n, ?::text"
    text, bindings = convert(sql, (value, literal))
    found = connection.execute(text.encode(), bindings).fetchone()
    assert found == (literal, literal, literal, value, literal)
