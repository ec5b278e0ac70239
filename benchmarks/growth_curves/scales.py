"""Where values lie on a plot: a logarithmic axis with a place for zero, and one that begins at zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ZERO_GAP_SHARE = 0.16
"""How much of the axis lies between zero, which has no logarithm, and the smallest value above it."""
TICKS_MAX = 7
STEPS = (1, 2, 5)
HEADROOM = 1.06


@dataclass(frozen=True)
class LogScale:
    """From `begin` to `end` of the page. Zero, if it is among the values, stands apart at the beginning."""

    values: tuple[int, ...]
    begin: float
    end: float

    @property
    def has_zero(self) -> bool:
        return 0 in self.values

    @property
    def positive(self) -> list[int]:
        return sorted({value for value in self.values if value > 0})

    def at(self, value: float) -> float:
        if value <= 0:
            return self.begin
        begin = self._first
        low, high = math.log10(self.positive[0]), math.log10(self.positive[-1])
        share = (math.log10(value) - low) / (high - low) if high > low else 0.5
        return begin + share * (self.end - begin)

    @property
    def _first(self) -> float:
        """Where the smallest value above zero lies."""
        return self.begin + (self.end - self.begin) * (ZERO_GAP_SHARE if self.has_zero else 0.0)

    @property
    def gap(self) -> float | None:
        """The middle between zero and the rest, where the axis is not to scale."""
        return (self.begin + self._first) / 2 if self.has_zero and self.positive else None

    def ticks(self) -> list[int]:
        """The values themselves while they are few, else round numbers among them."""
        positive = self.positive
        if len(positive) > TICKS_MAX:
            positive = round_numbers(positive[0], positive[-1])
        return [0, *positive] if self.has_zero else positive


@dataclass(frozen=True)
class LinearScale:
    """From zero, at `begin`, to `top`, at `end`."""

    top: float
    begin: float
    end: float

    def at(self, value: float) -> float:
        return self.begin + value / self.top * (self.end - self.begin)

    def ticks(self) -> list[float]:
        step = tick_step(self.top)
        return [round(step * number, 6) for number in range(int(self.top / step + 1e-9) + 1)]


def ratio_top(ratios: Sequence[float]) -> float:
    """Above all of them, and above 1: where a scale of ratios ends, at a tick."""
    highest = max([1.0, *ratios]) * HEADROOM
    step = tick_step(highest)
    return round(math.ceil(highest / step - 1e-9) * step, 6)


def tick_step(top: float) -> float:
    """The smallest of 0.1, 0.2, 0.5, 1, … with which there are few ticks."""
    exponent = math.floor(math.log10(top)) - 1
    while True:
        for step in STEPS:
            if math.ceil(top / (step * 10.0**exponent) - 1e-9) <= TICKS_MAX:
                return step * 10.0**exponent
        exponent += 1


def round_numbers(low: int, high: int) -> list[int]:
    """1, 2 and 5 times the powers of ten, from low to high; only the powers if those are many."""
    exponents = range(int(math.log10(low)), int(math.log10(high)) + 1)
    for steps in (STEPS, STEPS[:1]):
        found = [step * 10**exponent for exponent in exponents for step in steps if low <= step * 10**exponent <= high]
        if len(found) <= TICKS_MAX:
            break
    return found


def short(value: float) -> str:
    """10,000,000 as 10M, 200,000 as 200k."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
