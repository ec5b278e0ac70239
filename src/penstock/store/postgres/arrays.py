"""Lists as binary arrays with few types, so that a statement is prepared once and long lists are sent quickly.

The driver's own way is to look at every element for the smallest type that fits, and to write the array as text.
"""

from __future__ import annotations

from itertools import chain, repeat
from struct import Struct, pack
from typing import Any

from psycopg import DataError
from psycopg.adapt import Dumper, PyFormat
from psycopg.pq import Format
from psycopg.types.numeric import Int8BinaryDumper

TEXT, BIGINT, BOOLEAN = 25, 20, 16
ARRAYS = {TEXT: 1009, BIGINT: 1016, BOOLEAN: 1000}
_NULL = b"\xff\xff\xff\xff"
_HEAD = Struct(">iiiii")
_LENGTH = Struct(">i")


class ListDumper(Dumper):
    """An array of texts, whole numbers or truth values, any of them possibly NULL; the statement casts it."""

    format = Format.BINARY
    kind = TEXT

    def get_key(self, obj: list[Any], format: PyFormat) -> Any:
        return (list, _kind(obj))

    def upgrade(self, obj: list[Any], format: PyFormat) -> ListDumper:
        dumper = ListDumper(list)
        dumper.kind = _kind(obj)
        dumper.oid = ARRAYS[dumper.kind]
        return dumper

    def dump(self, obj: list[Any]) -> bytes:
        if not obj:
            return pack(">iii", 0, 0, self.kind)
        nulls = None in obj
        head = _HEAD.pack(1, nulls, self.kind, len(obj), 1)
        if self.kind == BIGINT and not nulls:
            return head + pack(">" + "iq" * len(obj), *chain.from_iterable(zip(repeat(8), obj)))
        return head + b"".join(map(_ELEMENTS[self.kind], obj))


def _kind(obj: list[Any]) -> int:
    first = next((item for item in obj if item is not None), None)
    if isinstance(first, bool):
        return BOOLEAN
    return BIGINT if isinstance(first, int) else TEXT


def _text(item: str | None) -> bytes:
    if item is None:
        return _NULL
    data = item.encode()
    if b"\x00" in data:
        raise DataError("PostgreSQL cannot store a text with a NUL character")
    return _LENGTH.pack(len(data)) + data


def _bigint(item: int | None) -> bytes:
    return _NULL if item is None else pack(">iq", 8, item)


def _boolean(item: bool | None) -> bytes:
    return _NULL if item is None else pack(">i?", 1, item)


_ELEMENTS: dict[int, Any] = {TEXT: _text, BIGINT: _bigint, BOOLEAN: _boolean}


def use_arrays(adapters: Any) -> None:
    """Teach a connection of the store's own."""
    adapters.register_dumper(int, Int8BinaryDumper)
    adapters.register_dumper(list, ListDumper)
