"""What was found: every measured value, the medians of the points, and how each compares with the first one."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.growth_curves.catalogue import CURVES, ENGINES, Curve, Engine, Target

Values = dict[str, list[float]]
"""By the name of the figure, one value for each time that it was measured."""


class NotOurs(Exception):
    """A file that holds no results of this benchmark."""


@dataclass(frozen=True)
class Point:
    """One figure at one x. The ratios are to the median of the first point."""

    x: int
    median: float
    ratio: float
    lowest: float
    highest: float


@dataclass(frozen=True)
class Verdict:
    """How a target was met by an engine, as far out as was measured."""

    engine: Engine
    target: Target
    at: int
    ratio: float
    met: bool


@dataclass
class Results:
    """All of a run, as it grows."""

    about: dict[str, Any] = field(default_factory=dict)
    values: dict[str, dict[Engine, dict[int, Values]]] = field(default_factory=dict)
    """By curve, engine and x."""

    def note(self, curve: Curve, engine: Engine, x: int, figures: Mapping[str, float]) -> None:
        found = self.values.setdefault(curve.name, {}).setdefault(engine, {}).setdefault(x, {})
        for name, value in figures.items():
            found.setdefault(name, []).append(value)

    @property
    def is_trial(self) -> bool:
        return bool(self.about.get("run", {}).get("size") == "tiny")

    @property
    def curves(self) -> list[Curve]:
        return [curve for curve in CURVES.values() if self.values.get(curve.name)]

    def engines(self, curve: Curve) -> list[Engine]:
        return [engine for engine in ENGINES if engine in self.values.get(curve.name, {})]

    def points(self, curve: Curve, engine: Engine, figure: str) -> list[Point]:
        """From the smallest x to the largest; none if this figure was not measured."""
        measured = self.values.get(curve.name, {}).get(engine, {})
        by_x = {x: measured[x][figure] for x in sorted(measured) if figure in measured[x]}
        if not by_x:
            return []
        first = statistics.median(next(iter(by_x.values()))) or 1.0
        return [_point(x, values, first) for x, values in by_x.items()]

    def verdicts(self, curve: Curve) -> list[Verdict]:
        """Of the engines that were measured at the x that the target compares with, and further out; of no trial."""
        if self.is_trial:
            return []
        found = [_verdict(curve, engine, self) for engine in self.engines(curve)]
        return [verdict for verdict in found if verdict]

    # As JSON

    def as_json(self) -> dict[str, Any]:
        return {
            "about": self.about,
            "curves": {
                curve.name: {engine: self._points_json(curve, engine) for engine in self.engines(curve)}
                for curve in self.curves
            },
        }

    def _points_json(self, curve: Curve, engine: Engine) -> list[dict[str, Any]]:
        measured = self.values[curve.name][engine]
        figures = {figure.name: self.points(curve, engine, figure.name) for figure in curve.figures}
        return [
            {
                "x": x,
                "figures": {
                    name: {"median": point.median, "ratio": point.ratio, "runs": measured[x][name]}
                    for name, points in figures.items()
                    for point in points
                    if point.x == x
                },
            }
            for x in sorted(measured)
        ]

    @classmethod
    def from_json(cls, document: Any) -> Results:
        """What `as_json` answered. Only what was measured is read; medians and ratios are computed again."""
        results = cls()
        try:
            results.about = dict(document["about"])
            for name, engines in document["curves"].items():
                for engine, points in engines.items():
                    for point in points:
                        runs = {figure: list(map(float, one["runs"])) for figure, one in point["figures"].items()}
                        results.values.setdefault(name, {}).setdefault(engine, {})[int(point["x"])] = runs
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise NotOurs(f"it is not as expected ({type(error).__name__}: {error})") from None
        return results


def _point(x: int, values: list[float], first: float) -> Point:
    median = statistics.median(values)
    return Point(x, median, median / first, min(values) / first, max(values) / first)


def _verdict(curve: Curve, engine: Engine, results: Results) -> Verdict | None:
    target = curve.target
    if target is None:
        return None
    medians = {point.x: point.median for point in results.points(curve, engine, target.figure)}
    furthest = max((x for x in medians if target.against < x <= target.at), default=None)
    if furthest is None or not medians.get(target.against):
        return None
    ratio = medians[furthest] / medians[target.against]
    higher = curve.figure(target.figure).higher_is_better
    return Verdict(engine, target, furthest, ratio, ratio >= target.limit if higher else ratio <= target.limit)
