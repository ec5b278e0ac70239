"""Draws a curve: one panel for each figure that is drawn, with both engines in it, as multiples of the first point."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from benchmarks.growth_curves.catalogue import ENGINES, Curve, Engine, Figure
from benchmarks.growth_curves.results import Point, Results
from benchmarks.growth_curves.scales import LinearScale, LogScale, ratio_top, short
from benchmarks.growth_curves.svg import document, element, number, text, text_width, wrapped

WIDTH = 760
LEFT, RIGHT = 64, 700
"""The edges of the plots; to their right stand the values of the last points."""
EDGE = 20
TITLE_SIZE, SIZE, SMALL = 17, 13, 12
LINE_HEIGHT = 17
HEAD_HEIGHT, PLOT_HEIGHT, FOOT_HEIGHT = 52, 190, 58
"""Of a panel: heading and legend, the plot itself, ticks and what they count."""
LABEL_GAP = 15
POINTS_MAX = 40
"""More points than these are drawn as the medians of neighbours."""
DOT, SQUARE = 5.0, 6.5
"""Radius and side: where both engines are in one place, the dot is seen around the square."""


@dataclass(frozen=True)
class Series:
    """What one engine did in one panel."""

    engine: Engine
    points: tuple[Point, ...]


def drawn(results: Results, curve: Curve) -> str:
    """The whole plot as SVG."""
    about = wrapped(on_what(results, curve), SMALL, WIDTH - 2 * EDGE)
    parts = [text(curve.title, EDGE, 30, TITLE_SIZE, class_="bold")]
    parts += [text(line, EDGE, 52 + LINE_HEIGHT * row, SMALL, class_="soft") for row, line in enumerate(about)]
    top = 50 + LINE_HEIGHT * len(about)
    for figure in curve.drawn:
        parts += Panel(results, curve, figure, top).parts()
        top += HEAD_HEIGHT + PLOT_HEIGHT + FOOT_HEIGHT
    return document(WIDTH, top + 6, curve.title, described(results, curve), parts) + "\n"


def on_what(results: Results, curve: Curve) -> str:
    """In which versions and on which machine, as far as the results say."""
    versions, machine, run = (results.about.get(topic, {}) for topic in ("versions", "machine", "run"))
    engines = [f"{ENGINES[engine]} {versions.get(ENGINES[engine], '')}".strip() for engine in results.engines(curve)]
    ours = [f"penstock {versions['penstock']}"] if "penstock" in versions else []
    cores = [f"{machine['cores']} cores"] if "cores" in machine else []
    disk = [f"{machine['file_system']}, flush {machine['disk_flush_ms']} ms"] if "disk_flush_ms" in machine else []
    date = [str(run["at"]).split(" ")[0]] if "at" in run else []
    trial = ["ONLY A TRIAL"] if results.is_trial else []
    return " · ".join([*trial, *ours, *engines, *cores, *disk, *date])


def described(results: Results, curve: Curve) -> str:
    """The same in words, for those who do not see the plot."""
    found = []
    for figure in curve.drawn:
        for engine in results.engines(curve):
            if points := results.points(curve, engine, figure.name):
                first, last = points[0], points[-1]
                found.append(
                    f"{ENGINES[engine]}, {figure.title}: {figure.shown(first.median)} {figure.unit} at {first.x:,} "
                    f"{curve.x_title}, {figure.shown(last.median)} {figure.unit} at {last.x:,}, "
                    f"{last.ratio:.2f} times as much."
                )
    return " ".join(found)


class Panel:
    """One figure over x. `top` is where it begins on the page."""

    def __init__(self, results: Results, curve: Curve, figure: Figure, top: float) -> None:
        self._curve = curve
        self._figure = figure
        self._top = top
        self._series = [
            Series(engine, tuple(thinned(points)))
            for engine in results.engines(curve)
            if (points := results.points(curve, engine, figure.name))
        ]
        self._target = curve.target if curve.target and curve.target.figure == figure.name else None
        points = [point for series in self._series for point in series.points]
        limits = [self._target.limit] if self._target else []
        self._bottom = top + HEAD_HEIGHT + PLOT_HEIGHT
        self.x = LogScale(tuple(point.x for point in points), LEFT + 16, RIGHT - 16)
        self.y = LinearScale(
            ratio_top([*(point.highest for point in points), *limits]), self._bottom, top + HEAD_HEIGHT
        )

    def parts(self) -> list[str]:
        return [
            *self._head(),
            *self._y_axis(),
            *self._x_axis(),
            *self._target_line(),
            *(part for series in self._series for part in self._line(series)),
            *self._last_values(),
        ]

    def _head(self) -> list[str]:
        better = "higher is better" if self._figure.higher_is_better else "lower is better"
        found = [text(f"{self._figure.title.capitalize()} ({better})", EDGE, self._top + 16, SIZE, class_="bold")]
        x = float(LEFT)
        for series in self._series:
            first = series.points[0]
            label = f"{ENGINES[series.engine]}: 1 = {self._figure.shown(first.median)} {self._figure.unit}"
            found.append(element("g", mark(series.engine, x, self._top + 33), class_=series.engine))
            found.append(text(label, x + 12, self._top + 37, SMALL))
            x += 12 + text_width(label, SMALL) + 24
        return found

    def _y_axis(self) -> list[str]:
        found = []
        for tick in self.y.ticks():
            at = self.y.at(tick)
            found.append(element("path", d=f"M{LEFT} {number(at)}H{RIGHT}", class_="grid" if tick else "axis"))
            found.append(text(f"{tick:g}", LEFT - 8, at + 4, SMALL, "end", "soft"))
        middle = (self._bottom + self._top + HEAD_HEIGHT) / 2
        return [*found, text("× the first point", EDGE + 4, middle, SMALL, "middle", "soft", turned=True)]

    def _x_axis(self) -> list[str]:
        found = []
        for tick in self.x.ticks():
            at = number(self.x.at(tick))
            found.append(element("path", d=f"M{at} {number(self._bottom)}v5", class_="axis"))
            found.append(text(short(tick), self.x.at(tick), self._bottom + 20, SMALL, "middle", "soft"))
        if self.x.gap is not None:  # Two strokes where the axis is not to scale.
            strokes = "".join(f"M{number(self.x.gap + off)} {number(self._bottom + 5)}l5 -10" for off in (-5, 0))
            found.append(element("path", d=strokes, class_="axis"))
        middle = (LEFT + RIGHT) / 2
        return [*found, text(self._curve.x_title, middle, self._bottom + 40, SMALL, "middle", "soft")]

    def _target_line(self) -> list[str]:
        if not self._target:
            return []
        at = self.y.at(self._target.limit)
        sign = "≥" if self._figure.higher_is_better else "≤"
        aim = f"target {sign} {self._target.limit:g} ({short(self._target.at)} against {short(self._target.against)})"
        below = 15 if self._figure.higher_is_better else -6  # Where the lines of what is good are not.
        return [
            element("path", d=f"M{LEFT} {number(at)}H{RIGHT}", class_="target"),
            text(aim, LEFT + 6, at + below, SMALL, class_="of-target"),
        ]

    def _line(self, series: Series) -> list[str]:
        at = [(self.x.at(point.x), self.y.at(point.ratio)) for point in series.points]
        path = "M" + "L".join(f"{number(x)} {number(y)}" for x, y in at)
        spread = "".join(
            f"M{number(self.x.at(point.x))} {number(self.y.at(point.lowest))}V{number(self.y.at(point.highest))}"
            for point in series.points
        )
        marks = "".join(mark(series.engine, x, y) for x, y in at)
        lines = element("path", d=spread, class_="spread") + element("path", d=path, class_="line")
        return [element("g", lines + marks, class_=series.engine)]

    def _last_values(self) -> list[str]:
        ends = [self.y.at(series.points[-1].ratio) for series in self._series]
        return [
            text(f"{series.points[-1].ratio:.2f}", RIGHT - 6, at + 4, SMALL, class_=f"own bold {series.engine}")
            for series, at in zip(self._series, apart(ends, LABEL_GAP), strict=True)
        ]


def mark(engine: Engine, x: float, y: float) -> str:
    """A dot or a square, so that colour is not all that tells them apart."""
    if engine == "sqlite":
        return element("circle", cx=x, cy=y, r=DOT, class_="mark")
    return element("rect", x=x - SQUARE / 2, y=y - SQUARE / 2, width=SQUARE, height=SQUARE, class_="mark")


def apart(positions: Sequence[float], gap: float) -> list[float]:
    """The same positions, those that are too near moved away from each other; of two at most."""
    if len(positions) < 2 or abs(positions[0] - positions[1]) >= gap:
        return list(positions)
    middle = (positions[0] + positions[1]) / 2
    first = -1 if positions[0] <= positions[1] else 1
    return [middle + first * gap / 2, middle - first * gap / 2]


def thinned(points: Sequence[Point]) -> list[Point]:
    """At most POINTS_MAX, the first and the last as they are, those between as medians of neighbours."""
    if len(points) <= POINTS_MAX:
        return list(points)
    inner, places = points[1:-1], POINTS_MAX - 2
    edges = [round(len(inner) * place / places) for place in range(places + 1)]
    groups = [inner[begin:end] for begin, end in pairwise(edges)]
    return [points[0], *map(_together, groups), points[-1]]


def _together(group: Sequence[Point]) -> Point:
    return Point(
        group[len(group) // 2].x,
        statistics.median(point.median for point in group),
        statistics.median(point.ratio for point in group),
        min(point.lowest for point in group),
        max(point.highest for point in group),
    )
