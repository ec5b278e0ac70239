"""The language of operations: written once for plain and async code, and where speed allows once for the SQL engines.

An operation is a generator: it yields statements by name and is sent their rows. Whoever carries it out decides on
which connection, in which transaction, and whether that blocks. So no operation knows a driver, and none is written
twice. An error of a statement is raised where it was yielded: an operation may get past it where each is a transaction.

A list among the parameters is an array of the engine: on SQLite a JSON text. The moment, `now`, is added by the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple, ParamSpec, TypeVar

import msgspec

P = ParamSpec("P")
T = TypeVar("T")

Rows = list[tuple[Any, ...]]


_encode = msgspec.json.Encoder().encode


class Statement(NamedTuple):
    """A statement by its name in sql/, with its parameters. `text` is for those that are made of fixed parts."""

    name: str
    parameters: dict[str, Any]
    text: str | None = None


Steps = Generator[Statement, Rows, T]


def run(name: str, /, **parameters: Any) -> Steps[Rows]:
    """`rows = yield from run("find_job", id=…)`: all rows of a statement from sql/."""
    return (yield Statement(name, parameters))


def run_text(name: str, text: str, /, **parameters: Any) -> Steps[Rows]:
    """The same for a statement whose text was made of fixed parts; on PostgreSQL it names the schema `penstock`."""
    return (yield Statement(name, parameters, text))


def value(name: str, /, **parameters: Any) -> Steps[Any]:
    """The only value of the only row, or None."""
    rows = yield Statement(name, parameters)
    return rows[0][0] if rows else None


def as_json(value: Any) -> str:
    """What is stored as text, or sent as one: rows for json_each(), and lists that all engines read alike."""
    return _encode(value).decode()


def at_once(do: Callable[P, T]) -> Callable[P, Steps[T]]:
    """What an engine does by itself, as an operation that asks for nothing."""

    def steps(*args: P.args, **kwargs: P.kwargs) -> Steps[T]:
        yield from ()
        return do(*args, **kwargs)

    return steps
