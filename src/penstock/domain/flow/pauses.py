"""What is paused: queues and job types whose jobs are not given out for now (L5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, Protocol

import msgspec

PauseKind = Literal["queue", "type"]


class Route(Protocol):
    """Whatever has a type and a queue: a job, a lane."""

    @property
    def type(self) -> str: ...
    @property
    def queue(self) -> str: ...


class Pause(msgspec.Struct, frozen=True):
    """A queue or a type that a person has paused, with who, why, and since when by the store's clock."""

    kind: PauseKind
    name: str
    since: int
    actor: str
    reason: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.name!r}"


class Pauses:
    """All that is paused at one time."""

    def __init__(self, pauses: Iterable[Pause] = ()) -> None:
        self._by_name = {(pause.kind, pause.name): pause for pause in pauses}

    def __bool__(self) -> bool:
        return bool(self._by_name)

    def __iter__(self) -> Iterator[Pause]:
        return iter(self._by_name.values())

    def find(self, kind: PauseKind, name: str) -> Pause | None:
        return self._by_name.get((kind, name))

    def names(self, kind: PauseKind) -> set[str]:
        return {pause.name for pause in self if pause.kind == kind}

    def holding(self, route: Route) -> tuple[Pause, ...]:
        """What keeps the jobs of a route from running: its queue, its type, both or neither."""
        return self.holding_names(route.type, route.queue)

    def holding_names(self, type: str, queue: str) -> tuple[Pause, ...]:
        if not self._by_name:
            return ()
        found = (self.find("queue", queue), self.find("type", type))
        return tuple(pause for pause in found if pause is not None)
