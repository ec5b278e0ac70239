"""Statements on the driver's protocol layer: each is prepared once, and its parameters are written in the types that
it names itself.

A cursor would look at every value for its type, every time: that is more work than all the rest of a lone enqueue.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cache
from itertools import chain, repeat
from struct import Struct, pack
from typing import Any, NamedTuple

import psycopg
from psycopg import DataError, OperationalError, generators
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, Format
from psycopg.pq.abc import PGresult

from penstock.store.postgres.connection.statements import Numbered
from penstock.store.sql.steps import Rows

TEXT, BIGINT, BOOLEAN = 25, 20, 16
_NULL = b"\xff\xff\xff\xff"
_HEAD = Struct(">iiiii")
_LENGTH = Struct(">i")
_NUL = "PostgreSQL cannot store a text with a NUL character"
_ANSWERED = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)

Encode = Callable[[Any], bytes]


class Prepared:
    """One connection's statements. Without `prepare` each is sent whole, as a transaction pooler needs it."""

    def __init__(self, conn: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> None:
        self._pgconn = conn.pgconn
        self._loaders = Transformer(conn)
        self._prepared: dict[bytes, bytes] = {}
        self.prepare = False

    def ask(self, query: Numbered, values: Sequence[Any], once: bool = False) -> Generator[Any, Any, Rows]:
        """For the wait() of the connection: all rows of a statement. One that is asked only `once` is not prepared."""
        shape = shape_of(query.types)
        encoded = [
            None if value is None else encode(value) for encode, value in zip(shape.encoders, values, strict=True)
        ]
        if once or not self.prepare:
            self._pgconn.send_query_params(query.text, encoded, shape.oids, shape.formats, Format.BINARY)
        else:
            name = self._prepared.get(query.text) or (yield from self._prepare(query.text, shape))
            self._pgconn.send_query_prepared(name, encoded, shape.formats, Format.BINARY)
        return self._rows((yield from self._result()))

    def _prepare(self, text: bytes, shape: Shape) -> Generator[Any, Any, bytes]:
        name = b"penstock_%d" % len(self._prepared)
        self._pgconn.send_prepare(name, text, shape.oids)
        yield from self._result()
        self._prepared[text] = name
        return name

    def _result(self) -> Generator[Any, Any, PGresult]:
        """A backend that is ended between its answer and its commit gives both, the answer and the error: nobody can
        know then what became of the statement. As with a connection that is lost, the error has no state."""
        results: list[PGresult] = yield from generators.execute(self._pgconn)
        if not results:
            raise OperationalError("the server has hung up")
        if results[0].status not in _ANSWERED:
            raise error_from_result(results[0])
        if len(results) > 1:
            raise OperationalError(f"the server has hung up: {error_from_result(results[1])}")
        return results[0]

    def _rows(self, result: PGresult) -> Rows:
        if not result.ntuples:
            return []
        self._loaders.set_pgresult(result, format=Format.BINARY)
        return self._loaders.load_rows(0, result.ntuples, tuple)


# How a value of each type is written


def _text(item: str) -> bytes:
    data = item.encode()
    if b"\x00" in data:
        raise DataError(_NUL)
    return data


def _number(item: int) -> bytes:
    return b"%d" % item


def _truth(item: bool) -> bytes:
    return b"t" if item else b"f"


def _array(kind: int, element: Encode) -> Encode:
    """A binary array, any element of which may be NULL."""

    def encode(items: Sequence[Any]) -> bytes:
        if not items:
            return pack(">iii", 0, 0, kind)
        return _HEAD.pack(1, None in items, kind, len(items), 1) + b"".join(
            [_NULL if item is None else element(item) for item in items]
        )

    return encode


def _text_element(item: str) -> bytes:
    data = _text(item)
    return _LENGTH.pack(len(data)) + data


_some_texts = _array(TEXT, _text_element)


def _texts(items: Sequence[str | None]) -> bytes:
    """Without a step of the interpreter for each: ids, payloads and results are most of what is written."""
    if not items or None in items:
        return _some_texts(items)
    data = list(map(str.encode, items))  # type: ignore[arg-type]  # None was looked for above.
    if b"\x00" in b"".join(data):
        raise DataError(_NUL)
    head = _HEAD.pack(1, 0, TEXT, len(data), 1)
    return head + b"".join(chain.from_iterable(zip(map(_LENGTH.pack, map(len, data)), data, strict=True)))


def _number_element(item: int) -> bytes:
    return pack(">iq", 8, item)


def _truth_element(item: bool) -> bytes:
    return pack(">i?", 1, item)


_some_numbers = _array(BIGINT, _number_element)


def _numbers(items: Sequence[int | None]) -> bytes:
    if not items or None in items:
        return _some_numbers(items)
    head = _HEAD.pack(1, 0, BIGINT, len(items), 1)
    return head + pack(">" + "iq" * len(items), *chain.from_iterable(zip(repeat(8), items)))


ENCODERS: dict[str, Encode] = {
    "text": _text, "uuid": _text, "bigint": _number, "integer": _number, "smallint": _number, "boolean": _truth,
    "text[]": _texts, "uuid[]": _texts,
    "bigint[]": _numbers, "integer[]": _numbers, "smallint[]": _numbers,
    "boolean[]": _array(BOOLEAN, _truth_element),
}  # fmt: skip
_ARRAYS = {_texts: 1009, _numbers: 1016, ENCODERS["boolean[]"]: 1000}


class Shape(NamedTuple):
    """How the parameters of a statement are written."""

    encoders: list[Encode]
    formats: list[Format]
    oids: list[int]


@cache
def shape_of(types: tuple[str, ...]) -> Shape:
    """The server takes the type of a single value from the statement; an array says what it holds, and is cast."""
    encoders = [ENCODERS[type_] for type_ in types]
    formats = [Format.BINARY if encode in _ARRAYS else Format.TEXT for encode in encoders]
    return Shape(encoders, formats, [_ARRAYS.get(encode, 0) for encode in encoders])
