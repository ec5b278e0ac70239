"""The one grid of durations: counts of how many were how long, from which any quantile is read within 8 %.

Twenty edges a decade from a millisecond to a hundred thousand seconds, about a day. A place is the number of the first
edge that a duration does not exceed; what is longer than all is in the last place. All buckets that are published lie
on the grid, so that they are exact.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import sqrt

STEPS = (1, 1.1, 1.25, 1.4, 1.6, 1.8, 2, 2.25, 2.5, 2.8, 3, 3.5, 4, 4.5, 5, 5.5, 6, 7, 8, 9)
DECADES = range(-3, 5)
EDGES = (*(float(f"{step}e{decade}") for decade in DECADES for step in STEPS), 1e5)
BUCKETS = (0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Those that are published (O1)."""
BEYOND = len(EDGES)
"""The place of what is longer than all edges."""

Spread = Mapping[int, int]
"""How many durations are in each place; places with none are left out."""


def place_of(seconds: float) -> int:
    return bisect_left(EDGES, seconds)


def quantile(spread: Spread, part: float) -> float | None:
    """The duration that this part of all (0 to 1) does not exceed; None of none.

    In the midst of its place, by ratio; beyond the last edge it is that edge, as nothing more is known.
    """
    total = sum(spread.values())
    if total == 0:
        return None
    places = sorted(spread)
    seen = accumulate(spread[place] for place in places)
    return middle(next(place for place, count in zip(places, seen, strict=True) if count >= part * total))


def middle(place: int) -> float:
    """What stands for a duration in this place."""
    if place >= BEYOND:
        return EDGES[-1]
    return EDGES[0] / 2 if place == 0 else sqrt(EDGES[place - 1] * EDGES[place])


def counts_up_to(spread: Spread, bounds: Sequence[float] = BUCKETS) -> list[int]:
    """How many do not exceed each bound, all of which are edges."""
    places = [place_of(bound) for bound in bounds]
    return [sum(count for place, count in spread.items() if place <= last) for last in places]


def add(into: dict[int, int], spread: Spread) -> None:
    for place, count in spread.items():
        into[place] = into.get(place, 0) + count
