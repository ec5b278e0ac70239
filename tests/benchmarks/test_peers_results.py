"""Medians and ratios."""

from __future__ import annotations

import json

import pytest

from benchmarks.peer_bench.calibration import Calibration, spread
from benchmarks.peer_bench.measure import pickup_figures
from benchmarks.peer_bench.results import COLUMNS, Results, Run
from tests.benchmarks.samples import OURS, drained, peer


def test_a_figure_is_the_median_of_all_turns() -> None:
    results = drained((10, 1), (30, 2), (20, 9))
    assert results.median("penstock-postgres", "drain_per_s") == 20
    assert results.median("peer", "drain_per_s") == 2
    assert results.median("peer", "bulk_per_s") is None


def test_a_ratio_is_that_of_turns_side_by_side_whatever_the_machine_does_in_between() -> None:
    """The machine doubles its speed in each round; the medians of all turns tell another story."""
    results = drained((20, 10), (40, 20), (80, 40))
    results.runs.append(Run(1, "penstock-postgres", "another", {"drain_per_s": 1000}))
    ratio = results.ratio(peer(), "drain_per_s")
    assert ratio
    assert (ratio.beside, ratio.lowest, ratio.highest) == (2, 2, 2)
    assert ratio.of_medians == 3


def test_the_median_of_the_rounds_counts_and_the_range_is_kept() -> None:
    ratio = drained((10, 10), (30, 10), (20, 10)).ratio(peer(), "drain_per_s")
    assert ratio
    assert (ratio.beside, ratio.lowest, ratio.highest) == (2, 1, 3)


def test_a_round_in_which_one_of_both_failed_is_left_out_of_the_ratio() -> None:
    results = drained((10, 10), (30, 10))
    results.runs.append(Run(3, "penstock-postgres", "peer", {"drain_per_s": 900}))
    ratio = results.ratio(peer(), "drain_per_s")
    assert ratio
    assert ratio.highest == 3


def test_without_history_penstock_has_turns_of_its_own() -> None:
    results = drained((10, 10))
    assert results.ratio(peer(), "drain_per_s", "none") is None
    results.runs.append(Run(1, "penstock-postgres-no-history", "peer", {"drain_per_s": 40}))
    assert [(ratio.history, ratio.beside) for ratio in results.ratios(peer())] == [("default", 1), ("none", 4)]


@pytest.mark.parametrize(("plain", "expected"), [(True, 3), (False, 2)])
def test_one_by_one_plain_code_is_compared_with_plain_code(plain: bool, expected: float) -> None:
    figures = {"single_per_s": 20.0, "single_plain_per_s": 30.0}
    runs = [Run(1, "penstock-postgres", "peer", figures), Run(1, "peer", None, {"single_per_s": 10})]
    ratio = Results([*OURS, peer(plain=plain)], runs).ratio(peer(plain=plain), "single_per_s")
    assert ratio
    assert ratio.beside == expected


def test_a_missing_figure_is_a_dash_and_a_large_one_has_commas() -> None:
    assert [column.shown(None) for column in COLUMNS] == ["–"] * len(COLUMNS)
    assert COLUMNS[0].shown(12345.6) == "12,346"
    assert COLUMNS[-1].shown(1.234) == "1.23"


def test_the_first_pickups_are_dropped() -> None:
    slow_start = [500.0] * 20
    steady = [float(number) for number in range(1, 201)]
    assert pickup_figures(slow_start + steady) == {"pickup_p50_ms": 100.5, "pickup_p99_ms": 199.0}


def test_the_spread_is_the_highest_by_the_lowest() -> None:
    assert spread([2.0, 5.0, 4.0]) == 2.5
    assert spread([]) == 1.0


def test_json_holds_every_turn_and_what_was_made_of_them() -> None:
    results = drained((20, 10))
    results.left_out["huey"] = "no reason"
    results.calibrations.append(Calibration(20.0, 30_000.0))
    found = json.loads(json.dumps(results.as_json()))
    assert found["medians"]["peer"] == {"drain_per_s": 10}
    assert found["ratios"]["peer"][0]["beside"] == 2
    assert found["runs"][0] == {
        "round": 1, "name": "penstock-postgres", "beside": "peer", "figures": {"drain_per_s": 20},
    }  # fmt: skip
    assert found["left_out"] == {"huey": "no reason"}
    assert found["calibrations"] == [{"python_msteps_per_s": 20.0, "cycle_per_s": 30_000.0}]
