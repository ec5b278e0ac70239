"""What is carried out on a connection of this engine: an operation, and how it is to be stored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from penstock.store.postgres.hot.seen import Seen
from penstock.store.sql.steps import Steps

T = TypeVar("T")


@dataclass(frozen=True)
class Operation(Generic[T]):
    """`steps` makes a new generator each time, since it may have to be done again. It is given what the connection has
    seen of the lanes, which a claim goes on from.

    `alone` says that each of its statements is a transaction of its own; otherwise all of them are one. `seconds` is
    how long a healthy server may take for one of them. What is not `durable` may be undone by a crash of the server.
    """

    steps: Callable[[Seen], Steps[T]]
    alone: bool = False
    durable: bool = True
    seconds: float = 30.0
