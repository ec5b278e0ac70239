"""The plots of growth curves as files: well-formed, small, everything inside, readable on light and dark pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from benchmarks.growth_curves.catalogue import CURVES
from benchmarks.growth_curves.plot import LABEL_GAP, POINTS_MAX, Panel, apart, drawn, thinned
from benchmarks.growth_curves.results import Point, Results
from benchmarks.growth_curves.svg import text_width, wrapped
from tests.benchmarks.growth_samples import HISTORY, SNAPSHOT, drained, every_curve

SVG = "{http://www.w3.org/2000/svg}"
BYTES_MAX = 15_000
ALL = every_curve()


def parsed(results: Results, name: str) -> ElementTree.Element:
    return ElementTree.fromstring(drawn(results, CURVES[name]))


def texts(root: ElementTree.Element) -> list[str]:
    return [one.text or "" for one in root.iter(f"{SVG}text")]


def of_class(root: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [one for one in root.iter() if name in one.get("class", "").split()]


def boxes(root: ElementTree.Element) -> Iterator[tuple[str, float, float, float, float]]:
    """Every label and about where it lies: left, top, right, bottom."""
    for one in root.iter(f"{SVG}text"):
        label, size = one.text or "", int(one.get("font-size", "0"))
        x, y, width = float(one.get("x", "nan")), float(one.get("y", "nan")), text_width(label, size)
        before = {"start": 0.0, "middle": 0.5, "end": 1.0}[one.get("text-anchor", "start")] * width
        if one.get("transform"):  # From bottom to top.
            yield label, x - size, y + before - width, x, y + before
        else:
            yield label, x - before, y - size, x - before + width, y


@pytest.mark.parametrize("name", CURVES)
def test_it_is_well_formed_small_and_has_words_for_those_who_do_not_see_it(name: str) -> None:
    root = parsed(ALL, name)
    assert root.tag == f"{SVG}svg"
    assert len(drawn(ALL, CURVES[name]).encode()) < BYTES_MAX
    assert root.findtext(f"{SVG}title") == CURVES[name].title
    assert "SQLite, drain rate" in (root.findtext(f"{SVG}desc") or "")
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", "title desc")


@pytest.mark.parametrize("name", CURVES)
def test_no_label_lies_outside(name: str) -> None:
    root = parsed(ALL, name)
    _, _, width, height = map(float, root.get("viewBox", "").split())
    outside = [box for box in boxes(root) if box[1] < 4 or box[2] < 4 or box[3] > width - 4 or box[4] > height - 4]
    assert outside == []


@pytest.mark.parametrize("name", CURVES)
def test_no_two_labels_lie_on_each_other(name: str) -> None:
    found = list(boxes(parsed(ALL, name)))
    overlapping = [
        (one[0], other[0])
        for number, one in enumerate(found)
        for other in found[:number]
        if one[1] < other[3] and other[1] < one[3] and one[2] < other[4] and other[2] < one[4]
    ]
    assert overlapping == []


def test_it_has_colours_for_dark_pages_and_no_colour_outside_of_the_style() -> None:
    root = parsed(ALL, "history")
    style = root.findtext(f"{SVG}style") or ""
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    named = set(re.findall(r"(--\w+): #", light))
    assert named == set(re.findall(r"(--\w+): #", dark)) != set()
    assert not any("#" in value for one in root.iter() for value in one.attrib.values())
    assert len(of_class(root, "card")) == 1


def test_both_engines_are_drawn_with_lines_and_marks_of_their_own() -> None:
    root = parsed(ALL, "history")
    assert len(of_class(root, "line")) == len(of_class(root, "spread")) == 2
    assert len(list(root.iter(f"{SVG}circle"))) == 1 + 5
    assert len(list(root.iter(f"{SVG}rect"))) == 1 + 1 + 5
    assert {"SQLite: 1 = 123,457 jobs/s", "PostgreSQL: 1 = 123,457 jobs/s"} <= set(texts(root))


def test_the_axes_and_the_title_say_what_is_measured_and_on_what() -> None:
    said = texts(parsed(ALL, "waiting"))
    assert said[0] == CURVES["waiting"].title
    assert said[1] == "penstock 0.1.0 · SQLite 3.54.1 · PostgreSQL 18.4 · 2 cores · ext4, flush 0.12 ms · 2026-01-02"
    assert said.count("jobs that wait behind those drained") == said.count("× the first point") == 2
    assert {"Claim of 10 jobs, p99 (lower is better)", "Drain rate (higher is better)"} <= set(said)
    assert {"1k", "10k", "100k", "1M", "10M"} <= set(said)


def test_points_are_where_the_scales_put_them() -> None:
    results = drained((0, [200.0]), (1_000, [100.0]), (100_000, [50.0]))
    panel = Panel(results, HISTORY, HISTORY.figures[0], 0)
    root = parsed(results, "history")
    [line] = of_class(root, "line")
    places = [tuple(map(float, place.split())) for place in line.get("d", "")[1:].split("L")]
    assert [x for x, _ in places] == [round(panel.x.at(x), 1) for x in (0, 1_000, 100_000)]
    [zero, *_] = [
        float(d.split()[1].partition("H")[0]) for one in of_class(root, "axis") if "H" in (d := one.get("d", ""))
    ]
    heights = [zero - y for _, y in places]
    assert heights[1] == pytest.approx(heights[0] / 2, abs=0.2)
    assert heights[2] == pytest.approx(heights[0] / 4, abs=0.2)


@pytest.mark.parametrize(
    ("name", "aim"),
    [
        ("waiting", "target ≤ 1.5 (10M against 10k)"),
        ("history", "target ≥ 0.9 (10M against 0)"),
        ("snapshot", "target ≥ 0.8 (200k against 0)"),
    ],
)
def test_a_target_is_a_dashed_line(name: str, aim: str) -> None:
    root = parsed(ALL, name)
    assert len(of_class(root, "target")) == 1
    assert aim in texts(root)
    assert "stroke-dasharray" in (root.findtext(f"{SVG}style") or "")


def test_a_curve_without_a_target_has_no_such_line() -> None:
    assert of_class(parsed(ALL, "types"), "target") == []


def test_one_engine_alone_can_be_drawn() -> None:
    root = parsed(drained((0, [100.0])), "history")
    assert len(of_class(root, "line")) == 1
    assert "PostgreSQL" not in "".join(texts(root))


def test_a_trial_is_not_mistaken_for_a_measurement() -> None:
    results = drained((0, [100.0]))
    results.about = {"run": {"size": "tiny"}}
    assert texts(parsed(results, "history"))[1] == "ONLY A TRIAL · SQLite"


def test_a_name_that_is_markup_does_no_harm() -> None:
    results = drained((0, [100.0]))
    results.about = {"versions": {"penstock": '<0.1> & "more"'}}
    assert texts(parsed(results, "history"))[1] == 'penstock <0.1> & "more" · SQLite'


def test_a_long_churn_is_thinned_and_stays_small() -> None:
    results = drained(*((10_000 * point, [100.0 + point % 2]) for point in range(1_800)), curve="snapshot")
    assert len(drawn(results, SNAPSHOT).encode()) < BYTES_MAX
    points = results.points(SNAPSHOT, "sqlite", "drain_per_s")
    kept = thinned(points)
    assert (len(kept), kept[0], kept[-1]) == (POINTS_MAX, points[0], points[-1])
    assert [point.x for point in kept] == sorted({point.x for point in kept})
    assert {(point.lowest, point.highest) for point in kept[1:-1]} == {(1.0, 1.01)}


def test_few_points_are_drawn_as_they_are() -> None:
    points = [Point(x, 1.0, 1.0, 1.0, 1.0) for x in range(POINTS_MAX)]
    assert thinned(points) == points


def test_values_that_are_near_each_other_are_moved_apart_and_keep_their_order() -> None:
    assert apart([10.0, 100.0], LABEL_GAP) == [10.0, 100.0]
    assert apart([50.0, 52.0], 10) == [46.0, 56.0]
    assert apart([52.0, 50.0], 10) == [56.0, 46.0]
    assert apart([5.0], 10) == [5.0]


def test_long_lines_are_broken_between_their_parts() -> None:
    parts = ["a" * 20, "b" * 20, "c" * 20]
    assert wrapped(" · ".join(parts), 10, text_width("x" * 45, 10)) == [f"{parts[0]} · {parts[1]}", parts[2]]
