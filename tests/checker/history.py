"""A history as operations: a question with its answer, and the span of time in which it took effect."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tests.checker.events import Event

NEVER = 2**63
"""The moment after all others: what nobody heard of may still happen."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """Took effect at one moment from `begun` to `ended`, or, if it is unknown, perhaps never.

    Whatever ended before another was begun came before it; of those that overlap, nobody can say.
    """

    op: str
    process: str
    outcome: Literal["ok", "unknown"]
    asked: Any
    told: Any
    begun: int
    ended: int

    @property
    def ok(self) -> bool:
        return self.outcome == "ok"

    def before(self, other: Operation) -> bool:
        return self.ended < other.begun

    @property
    def events(self) -> tuple[Event, ...]:
        return (self.asked,) if self.told is None else (self.asked, self.told)


class History:
    """The events of all processes, in the order of their moments. Operations that failed stored nothing: left out."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.events = sorted(events, key=lambda event: event.at)
        self._operations: dict[str, list[Operation]] = defaultdict(list)
        self._notes: dict[str, list[Any]] = defaultdict(list)
        open_calls: dict[tuple[str, int | None], Event] = {}
        for event in self.events:
            if event.phase == "note":
                self._notes[event.op].append(event)
            elif event.phase == "invoke":
                open_calls[event.process, event.call] = event
            else:
                self._answered(_question(open_calls, event), event)
        for asked in open_calls.values():
            self._unknown(asked, None)
        for found in self._operations.values():
            found.sort(key=lambda one: one.begun)

    def _answered(self, asked: Event, event: Event) -> None:
        if event.phase == "ok":
            self._add(Operation(event.op, event.process, "ok", asked, event, asked.at, event.at))
        elif event.phase == "unknown":
            self._unknown(asked, event)

    def _unknown(self, asked: Event, told: Event | None) -> None:
        self._add(Operation(asked.op, asked.process, "unknown", asked, told, asked.at, NEVER))

    def _add(self, operation: Operation) -> None:
        self._operations[operation.op].append(operation)

    def of(self, *ops: str) -> list[Operation]:
        """The operations of these kinds, those of each in the order in which they began."""
        return [operation for op in ops for operation in self._operations.get(op, ())]

    def notes(self, op: str) -> list[Any]:
        return self._notes.get(op, [])

    @property
    def end(self) -> int:
        return self.events[-1].at if self.events else 0


def _question(open_calls: dict[tuple[str, int | None], Event], answer: Event) -> Event:
    asked = open_calls.pop((answer.process, answer.call), None)
    if asked is None or asked.op != answer.op:
        raise ValueError(
            f"{answer.process} was answered {answer.phase} to a call that it did not make ({answer.op} {answer.call}); "
            "every process needs a name and a Log of its own"
        )
    return asked
