"""What one claim may still take at a worker: the resources that are left, and how many more of limited types (R1, L3).

A job that does not fit is passed over, and others go on. So that a stream of small jobs cannot keep a big one out for
ever, what the first one needs that was passed over for too long is set aside: those after it share the rest.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from penstock.domain.options import NO_RESOURCES, Resources

NAMES = ("cpu", "memory", "gpu")
PASSED_OVER_SECONDS_MAX = 10.0
_ROUNDING = 1e-9  # 0.1 + 0.2 is a little more than 0.3.

Rank = tuple[int, int, int | str]
"""Where a job stands: (−priority, due time, id), or what an engine orders by instead of the id."""


class Needs(Protocol):
    """What is asked for by the jobs of a lane."""

    @property
    def type(self) -> str: ...
    @property
    def resources(self) -> Resources: ...


class Cap(msgspec.Struct, frozen=True):
    """How many more jobs of these types a worker may take, together: the names of one type that is limited there."""

    names: tuple[str, ...]
    left: int


class ClaimBudget:
    """What is left during one claim. It only ever shrinks."""

    def __init__(self, free: Resources | None, caps: Sequence[Cap] = ()) -> None:
        self._free = {name: getattr(free or NO_RESOURCES, name) for name in NAMES}
        self._left = [cap.left for cap in caps]
        self._cap_of = {name: number for number, cap in enumerate(caps) for name in cap.names}
        self._held: tuple[Rank, Resources] | None = None

    def fits(self, lane: Needs) -> bool:
        """Whether one more such job fits."""
        return self._cap_left(lane) > 0 and self._has(lane.resources)

    def surely(self, lanes: Iterable[Needs]) -> int:
        """How many jobs fit whichever of these lanes they are of."""
        lanes = list(lanes)
        counts = [self._cap_left(lane) for lane in lanes]
        for name in NAMES:
            most = max((getattr(lane.resources, name) for lane in lanes), default=0)
            if most > 0:
                counts.append(int((self._free[name] + _ROUNDING) / most))
        return min(counts, default=sys.maxsize)

    def take(self, lane: Needs) -> None:
        for name in NAMES:
            self._free[name] -= getattr(lane.resources, name)
        if lane.type in self._cap_of:
            self._left[self._cap_of[lane.type]] -= 1

    # What was passed over for too long

    def hold_for(self, lane: Needs, place: Rank) -> None:
        """This job has waited for too long. Set aside what it needs, if nothing but resources keeps it from being taken
        and it is the first such job.
        """
        lacks = self._cap_left(lane) > 0 and not self._has(lane.resources)
        if lacks and (self._held is None or place < self._held[0]):
            self._held = place, lane.resources

    @property
    def holding(self) -> bool:
        return self._held is not None

    def allows(self, lane: Needs, place: Rank) -> bool:
        """Whether a job at this place would leave what is set aside for one before it."""
        if self._held is None or place < self._held[0]:
            return True
        return self._has(lane.resources, beside=self._held[1])

    def _cap_left(self, lane: Needs) -> int:
        number = self._cap_of.get(lane.type)
        return sys.maxsize if number is None else self._left[number]

    def _has(self, needs: Resources, beside: Resources = NO_RESOURCES) -> bool:
        return all(
            getattr(needs, name) <= max(0.0, self._free[name] - getattr(beside, name)) + _ROUNDING for name in NAMES
        )


def is_scarce(lane: Needs, caps: Sequence[Cap]) -> bool:
    """Whether jobs of this lane have to be counted: they need resources, or their type is limited."""
    return lane.resources != NO_RESOURCES or any(lane.type in cap.names for cap in caps)


def left_of(has: Resources | None, used: Iterable[Resources]) -> Resources:
    """What a worker has left while it holds jobs with these needs; never less than nothing."""
    left = {name: getattr(has or NO_RESOURCES, name) for name in NAMES}
    for one in used:
        for name in NAMES:
            left[name] -= getattr(one, name)
    return Resources(max(0.0, left["cpu"]), max(0, left["memory"]), max(0.0, left["gpu"]))
