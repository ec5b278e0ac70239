"""Operations written once for plain and for async code.

An operation is a generator: it yields statements and is sent their rows. Whoever carries it out decides on which
connection, in which transaction, and whether that blocks. So no operation knows a driver, and none is written twice.
An error of a statement is raised where it was yielded: an operation may get past it where each is a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")

Rows = list[tuple[Any, ...]]


class Statement(NamedTuple):
    """A statement by its name in sql/, with its parameters. `text` is for those that are made of fixed parts."""

    name: str
    parameters: dict[str, Any]
    text: str | None = None


SEEN = "@seen"
"""Not a statement: asks for what the connection has seen of the lanes (claim.Seen)."""

Steps = Generator[Statement, Rows, T]


def run(name: str, /, **parameters: Any) -> Steps[Rows]:
    """`rows = yield from run("find_job", id=…)`: all rows of a statement from sql/."""
    return (yield Statement(name, parameters))


def run_text(name: str, text: str, /, **parameters: Any) -> Steps[Rows]:
    """The same for a statement whose text was made of fixed parts; it names the schema `penstock`."""
    return (yield Statement(name, parameters, text))


def value(name: str, /, **parameters: Any) -> Steps[Any]:
    """The only value of the only row, or None."""
    rows = yield Statement(name, parameters)
    return rows[0][0] if rows else None


@dataclass(frozen=True)
class Operation(Generic[T]):
    """What is carried out: `steps` makes a new generator each time, since it may have to be done again.

    `alone` says that each of its statements is a transaction of its own; otherwise all of them are one. `seconds` is
    how long a healthy server may take for one of them. What is not `durable` may be undone by a crash of the server.
    """

    steps: Callable[[], Steps[T]]
    alone: bool = False
    durable: bool = True
    seconds: float = 30.0
