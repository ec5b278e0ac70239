"""What the handlers of worker processes have told: how many were started, and when the first and the last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Marks:
    """By a clock that processes share."""

    count: int
    first_ns: int
    last_ns: int

    @property
    def per_second(self) -> float:
        """Starts per second, from the first to the last."""
        return (self.count - 1) * 1e9 / max(self.last_ns - self.first_ns, 1)


def together(marks: Sequence[Marks]) -> Marks:
    """Of those processes that had anything to do."""
    busy = [one for one in marks if one.count]
    if not busy:
        return Marks(0, 0, 0)
    return Marks(sum(one.count for one in busy), min(one.first_ns for one in busy), max(one.last_ns for one in busy))
