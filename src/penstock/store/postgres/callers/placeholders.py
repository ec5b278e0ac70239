"""Statements of the caller's with SQLite's placeholders, `?` and `:name`, for a driver that wants %s and %(name)s.

So that what runs in `app.transaction()` runs on every engine. A statement that has %s or %(name)s is the driver's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from penstock.domain.errors import UsageError

Bindings = Sequence[object] | Mapping[str, object]

# What is not SQL's own text comes first: literals, quoted names, comments. The rest is looked at one sign at a time.
_TOKEN = re.compile(
    r"""
    (?P<kept>
        (?<![\w$]) [eE] ' (?: [^'\\] | \\. | '' )* (?:'|\Z)      # a string with backslashes
      | ' (?: [^'] | '' )* (?:'|\Z)
      | " (?: [^"] | "" )* (?:"|\Z)
      | (?<![\w$]) \$ (?P<tag> (?: [^\W\d]\w* )? ) \$ .*? (?: \$ (?P=tag) \$ | \Z )
      | -- [^\n]*
      | ::
    )
    | (?P<comment> /\* )
    | (?P<own> %s\b | %\(\w+\)s\b )
    | (?P<operator> \?& | \?\|(?!\|) )
    | \? (?P<number> \d* )
    | : (?P<name> [^\W\d]\w* )
    | \w+ | \s+ | .
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT_SIGN = re.compile(r"/\*|\*/")


class _Piece(NamedTuple):
    """A part of a statement. `kind` is "mark" for ?, "name" for :name, "own" for the driver's, else "text"."""

    text: str
    kind: str = "text"
    name: str = ""
    sliced: bool = False
    """Whether it stands in brackets, where a colon may be what separates the ends of a slice."""


def convert(sql: str, bindings: Bindings) -> tuple[str, Bindings | None]:
    """The statement and its bindings for psycopg. Without bindings it is taken as it stands, % and ? included."""
    if not bindings:
        return sql, None
    pieces = list(_pieces(sql))
    if any(piece.kind == "own" for piece in pieces):
        return sql, bindings
    if isinstance(bindings, Mapping):
        return "".join(_named(piece, bindings) for piece in pieces), bindings
    return "".join(_counted(piece) for piece in pieces), bindings


def _named(piece: _Piece, bindings: Mapping[str, object]) -> str:
    if piece.kind != "name" or (piece.sliced and piece.name not in bindings):
        return piece.text.replace("%", "%%")
    if piece.name not in bindings:
        raise UsageError(f"the statement names :{piece.name}, which its bindings do not have: {', '.join(bindings)}")
    return f"%({piece.name})s"


def _counted(piece: _Piece) -> str:
    if piece.kind != "mark":
        return piece.text.replace("%", "%%")
    if piece.name:
        raise UsageError(f"the placeholder {piece.text} has a number, which only SQLite knows; write ? or :name")
    return "%s"


def _pieces(sql: str) -> Iterator[_Piece]:
    at, depth, last = 0, 0, ""
    while at < len(sql):
        found = _TOKEN.match(sql, at)
        assert found is not None
        end = found.end() if found["comment"] is None else _comment_end(sql, found.end())
        text = sql[at:end]
        if found["number"] is not None:
            yield _Piece(text, "mark", found["number"])
        elif found["name"] is not None:
            other_end = depth and (last.isalnum() or last in ("_", ")", "]"))  # Of a slice: x[1:n]
            yield _Piece(text) if other_end else _Piece(text, "name", found["name"], depth > 0)
        else:
            depth = max(0, depth + (text == "[") - (text == "]"))
            yield _Piece(text, "text" if found["own"] is None else "own")
        at, last = end, text.rstrip()[-1:] or last


def _comment_end(sql: str, at: int) -> int:
    """Where a comment ends that has begun before `at`. PostgreSQL's may hold others."""
    depth = 1
    while depth:
        sign = _COMMENT_SIGN.search(sql, at)
        if sign is None:
            return len(sql)
        depth += 1 if sign[0] == "/*" else -1
        at = sign.end()
    return at
