"""Medians, ratios and targets of growth curves, and that they survive a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.growth_curves import paper
from benchmarks.growth_curves.results import NotOurs, Results
from tests.benchmarks.growth_samples import HISTORY, SNAPSHOT, WAITING, drained, every_curve


def test_a_point_is_the_median_of_its_rounds_and_a_multiple_of_the_first_one() -> None:
    first, second = drained((10, [60.0, 40.0, 20.0]), (0, [90.0, 100.0, 130.0])).points(
        HISTORY, "sqlite", "drain_per_s"
    )
    assert (first.x, first.median, first.ratio, first.lowest, first.highest) == (0, 100.0, 1.0, 0.9, 1.3)
    assert (second.x, second.median, second.ratio, second.lowest, second.highest) == (10, 40.0, 0.4, 0.2, 0.6)


def test_a_figure_that_was_not_measured_has_no_points() -> None:
    assert drained((0, [1.0])).points(HISTORY, "postgres", "drain_per_s") == []
    assert drained((0, [1.0])).points(HISTORY, "sqlite", "other") == []


def test_a_rate_must_stay_above_its_target() -> None:
    [met] = drained((0, [100.0]), (10_000_000, [90.0])).verdicts(HISTORY)
    [missed] = drained((0, [100.0]), (10_000_000, [89.0])).verdicts(HISTORY)
    assert (met.met, met.ratio, met.at) == (True, 0.9, 10_000_000)
    assert (missed.met, missed.ratio) == (False, 0.89)


def test_a_time_must_stay_below_its_target_against_the_x_that_the_target_names() -> None:
    results = Results()
    for x, time_ms in ((1_000, 1.0), (10_000, 2.0), (10_000_000, 3.0)):
        results.note(WAITING, "postgres", x, {"claim_p99_ms": time_ms})
    [verdict] = results.verdicts(WAITING)
    assert (verdict.engine, verdict.ratio, verdict.met) == ("postgres", 1.5, True)
    results.note(WAITING, "postgres", 10_000_000, {"claim_p99_ms": 4.0})
    assert [one.met for one in results.verdicts(WAITING)] == [False]


def test_a_run_that_did_not_go_so_far_says_so() -> None:
    results = drained((0, [100.0]), (10_000, [95.0]), (1_000_000, [80.0]))
    assert list(paper.verdicts(results, HISTORY)) == [
        "SQLite, drain rate: 0.80 × at 1,000,000 (the target is for 10,000,000) against 0; target ≥ 0.9: MISSED"
    ]


def test_a_target_that_is_met_only_as_far_as_was_measured_is_met_so_far() -> None:
    [said] = paper.verdicts(drained((0, [100.0]), (1_000_000, [95.0])), HISTORY)
    assert said.endswith("target ≥ 0.9: met so far")


def test_a_trial_says_nothing_of_targets() -> None:
    results = drained((0, [100.0]), (10_000_000, [90.0]))
    results.about = {"run": {"size": "tiny"}}
    assert results.verdicts(HISTORY) == []


def test_without_the_x_to_compare_with_there_is_no_verdict() -> None:
    assert drained((10_000, [95.0]), (10_000_000, [80.0])).verdicts(HISTORY) == []
    assert drained((0, [95.0])).verdicts(HISTORY) == []


def test_results_survive_json() -> None:
    results = every_curve()
    again = Results.from_json(json.loads(json.dumps(results.as_json())))
    assert again == results


def test_json_has_medians_and_ratios_for_other_programs() -> None:
    [_, point] = drained((0, [100.0, 300.0]), (10, [50.0])).as_json()["curves"]["history"]["sqlite"]
    assert point == {"x": 10, "figures": {"drain_per_s": {"median": 50.0, "ratio": 0.25, "runs": [50.0]}}}


@pytest.mark.parametrize("document", [[], {}, {"about": {}}, {"about": {}, "curves": {"history": {"sqlite": [1]}}}])
def test_a_document_that_is_something_else_is_refused(document: object) -> None:
    with pytest.raises(NotOurs, match="not as expected"):
        Results.from_json(document)


def test_markdown_has_a_table_for_each_curve_with_medians_ratios_and_spread() -> None:
    results = drained((0, [100.0, 120.0, 80.0]), (10_000, [50.0]))
    results.note(SNAPSHOT, "postgres", 0, {"drain_per_s": 10.0, "disk_mib": 1.5})
    text = paper.markdown(results)
    assert "| finished jobs in the store | SQLite: drain rate jobs/s |" in text
    assert "| 0 | 100 (1.00 ×, 0.80–1.20) |" in text
    assert "| 10,000 | 50 (0.50 ×, 0.50–0.50) |" in text
    assert "| 0 | 10 (1.00 ×, 1.00–1.00) | 1.5 (1.00 ×, 1.00–1.00) |" in text
    assert "MISSED" in text
    assert "- disk flush ms: 0.12" in text


def test_an_engine_without_this_x_has_a_dash() -> None:
    results = drained((0, [100.0]), (10, [50.0]))
    results.note(HISTORY, "postgres", 0, {"drain_per_s": 20.0})
    assert "| 10 | 50 (0.50 ×, 0.50–0.50) | – |" in paper.markdown(results)


def test_all_files_are_written_into_folders_that_are_made(tmp_path: Path) -> None:
    results = every_curve()
    written = paper.write(results, tmp_path / "new", "growth-1")
    plots = paper.write_plots(results, tmp_path / "other")
    assert [path.name for path in written] == ["growth-1.json", "growth-1.md"]
    assert [path.name for path in plots] == [f"growth-{curve.name}.svg" for curve in results.curves]
    assert all(path.read_text(encoding="utf-8").startswith("<svg") for path in plots)
    assert paper.read(written[0]) == results
