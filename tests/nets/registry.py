"""The shape of an operation that the nets know, and all of them by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.domain.errors import NotLeader
from tests.contract.world import World
from tests.nets.promises import Promise
from tests.nets.stage import Stage

Act = Callable[[World, Stage], Any]


@dataclass(frozen=True)
class Operation:
    """`refused` are the errors that are a right answer; `prepare` is done before, and is not a part of it. One
    that `knows_nothing` has never looked at these tables. `promise`
    says what of an answer is not so. `removes`: ended jobs may be gone after it; `purges`: also those that have only
    just ended; `removes_leased`: those that it ends.
    What is `is_long` is in a transaction of the caller's, for which what `never_waits` must not wait.
    """

    name: str
    act: Act
    refused: tuple[type[Exception], ...] = ()
    prepare: Act | None = None
    knows_nothing: bool = False
    promise: Promise | None = None
    removes: bool = False
    purges: bool = False
    removes_leased: bool = False
    is_long: bool = False
    never_waits: bool = False

    @property
    def claims(self) -> bool:
        return self.name.startswith("claim")

    @property
    def is_fenced(self) -> bool:
        """Whether it is done by a leader, and refused once there is another."""
        return NotLeader in self.refused


OPERATIONS: dict[str, Operation] = {}


def operation(name: str, *refused: type[Exception], **fields: Any) -> Callable[[Act], Act]:
    def add(act: Act) -> Act:
        OPERATIONS[name] = Operation(name, act, refused, **fields)
        return act

    return add


def forget(world: World, stage: Stage) -> None:
    """A store that has sent heartbeats takes one that is put back for a restored past, in which its worker is lost."""
    world.store._beats.clear()  # type: ignore[attr-defined]
