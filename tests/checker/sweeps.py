"""Two questions, answered in one pass: how many spans overlap, and how many moments lie close together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Span(Generic[T]):
    """From `begin` up to, and without, `end`. Empty if that is not after it."""

    begin: int
    end: int
    of: T


def first_crowd(spans: Sequence[Span[T]], limit: int) -> list[Span[T]] | None:
    """The spans that overlap at the first moment at which there are more than `limit` of them."""
    active: list[Span[T]] = []
    for span in sorted((span for span in spans if span.begin < span.end), key=lambda span: span.begin):
        active = [other for other in active if other.end > span.begin]
        active.append(span)
        if len(active) > limit:
            return active
    return None


def first_burst(moments: Sequence[int], limit: int, window: int) -> range | None:
    """The first `limit` + 1 of the sorted moments that lie within less than `window`, as their positions."""
    for at in range(len(moments) - limit):
        if moments[at + limit] - moments[at] < window:
            return range(at, at + limit + 1)
    return None
