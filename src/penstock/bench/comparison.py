"""Compares two runs: what has changed, and whether that is more than the machine changes by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from penstock.bench.figures import ROWS, Row
from penstock.bench.files import BenchRun, Measured
from penstock.domain.errors import ConfigError

ROUNDS_MIN = 3
"""With fewer the spread says too little for a difference to be held against it."""
MEASURED = ("disk_flush_ms", "round_trip_ms")
MEASURED_FACTOR = 1.5
"""Settings that are measured are never the same twice: by more than this they differ."""
OWN_TO_A_RUN = ("penstock", "schema")

Verdict = Literal["faster", "slower", "same", "unknown"]
Value = Callable[[Measured], float | None]


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One figure of both runs. `beside_raw`: how the ratio to the bare driver of the same run has changed."""

    row: Row
    before: float
    after: float
    beside_raw: float | None
    verdict: Verdict

    @property
    def ratio(self) -> float:
        return self.after / self.before


@dataclass(frozen=True, slots=True)
class Comparison:
    before: BenchRun
    after: BenchRun
    lines: list[ComparedFigure]
    differing: dict[str, tuple[Any, Any]]
    """Settings that are not the same in both."""
    drift: tuple[float, float] | None
    """The lowest and the highest change of the bare driver itself, where it is the same in both runs."""

    @property
    def has_raw(self) -> bool:
        return any(line.beside_raw is not None for line in self.lines)


def compare_runs(before: BenchRun, after: BenchRun) -> Comparison:
    lines = [
        _line(row, before, after) for row in ROWS if row.name in before.total.ours and row.name in after.total.ours
    ]
    if not lines:
        raise ConfigError(f"{before.path} and {after.path} have no figure in common: measure one of them again")
    return Comparison(before, after, lines, dict(_differing(before.settings, after.settings)), _drift(before, after))


def _line(row: Row, before: BenchRun, after: BenchRun) -> ComparedFigure:
    values = (_ours(row.name), _beside_raw(row.name))
    plain, beside_raw = (_change(value, before, after) for value in values)
    assert plain is not None
    counts = values[0] if beside_raw is None else values[1]
    changed = plain if beside_raw is None else beside_raw
    verdict = _verdict(row, changed, _spread(counts, before), _spread(counts, after))
    return ComparedFigure(row, before.total.ours[row.name], after.total.ours[row.name], beside_raw, verdict)


def _ours(name: str) -> Value:
    return lambda measured: measured.ours.get(name)


def _beside_raw(name: str) -> Value:
    def ratio(measured: Measured) -> float | None:
        ours, raw = measured.ours.get(name), measured.raw.get(name)
        return ours / raw if ours and raw else None

    return ratio


def _change(value: Value, before: BenchRun, after: BenchRun) -> float | None:
    first, second = value(before.total), value(after.total)
    return second / first if first and second else None


def _spread(value: Value, run: BenchRun) -> float | None:
    """The highest of the rounds by the lowest; None if that is not known."""
    found = [value(measured) for measured in run.rounds]
    known = [one for one in found if one]
    return max(known) / min(known) if len(known) == len(found) >= ROUNDS_MIN else None


def _verdict(row: Row, changed: float, *spreads: float | None) -> Verdict:
    """A change counts when it is larger than the spread within either run."""
    known = [spread for spread in spreads if spread is not None]
    if len(known) < len(spreads):
        return "unknown"
    if 1 / max(known) <= changed <= max(known):
        return "same"
    return "faster" if (changed > 1) is row.more_is_better else "slower"


def _differing(before: dict[str, Any], after: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """Settings that both runs state, and state differently."""
    for name, first in before.items():
        second = after.get(name, first)
        if first == second or name in OWN_TO_A_RUN or (name in MEASURED and _near(first, second)):
            continue
        yield name, (first, second)


def _near(first: Any, second: Any) -> bool:
    numbers = isinstance(first, int | float) and isinstance(second, int | float) and min(first, second) > 0
    return bool(numbers and max(first, second) / min(first, second) <= MEASURED_FACTOR)


def _drift(before: BenchRun, after: BenchRun) -> tuple[float, float] | None:
    """By rates alone: a pickup is too short a time to tell the machine by."""
    if before.settings.get("engine") != after.settings.get("engine"):
        return None
    first, second = before.total.raw, after.total.raw
    found = [
        second[row.name] / first[row.name]
        for row in ROWS
        if row.more_is_better and row.name in first and row.name in second
    ]
    return (min(found), max(found)) if found else None
