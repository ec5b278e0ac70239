"""Where values lie on the axes of a plot."""

from __future__ import annotations

import pytest

from benchmarks.growth_curves.scales import LinearScale, LogScale, ratio_top, round_numbers, short


def test_powers_of_ten_are_evenly_spaced() -> None:
    scale = LogScale((1_000, 10_000, 100_000, 1_000_000), 100, 400)
    assert [scale.at(value) for value in scale.values] == pytest.approx([100, 200, 300, 400])
    assert scale.gap is None


def test_zero_has_a_place_of_its_own_before_the_smallest() -> None:
    scale = LogScale((0, 10_000, 100_000, 1_000_000), 0, 100)
    assert [scale.at(value) for value in scale.values] == pytest.approx([0, 16, 58, 100])
    assert scale.gap == pytest.approx(8)
    assert scale.ticks() == [0, 10_000, 100_000, 1_000_000]


def test_one_value_alone_is_in_the_middle() -> None:
    assert LogScale((7,), 0, 100).at(7) == 50


def test_a_scale_of_ratios_begins_at_zero_and_holds_all_of_them() -> None:
    scale = LinearScale(ratio_top([0.4, 1.5]), 200, 100)
    assert scale.at(0) == 200
    assert scale.at(scale.top) == 100
    assert scale.at(1.0) == pytest.approx(200 - 100 / scale.top)
    assert scale.ticks()[0] == 0
    assert scale.ticks()[-1] == scale.top >= 1.5


@pytest.mark.parametrize("highest", [0.0, 0.3, 0.97, 1.0, 1.01, 1.2, 1.5, 1.93, 2.7, 4.4, 9.9, 37.0, 1234.0])
def test_the_ticks_of_ratios_are_few_and_end_at_the_top(highest: float) -> None:
    top = ratio_top([highest])
    ticks = LinearScale(top, 0, 1).ticks()
    assert top > max(1.0, highest)
    assert 3 <= len(ticks) <= 8
    assert ticks[-1] == pytest.approx(top)


def test_many_values_have_round_numbers_as_ticks() -> None:
    scale = LogScale(tuple(range(0, 210_000, 10_000)), 0, 100)
    assert scale.ticks() == [0, 10_000, 20_000, 50_000, 100_000, 200_000]


def test_over_many_powers_only_they_are_ticks() -> None:
    assert round_numbers(10_000, 30_000_000) == [10_000, 100_000, 1_000_000, 10_000_000]


def test_numbers_are_short() -> None:
    assert [short(value) for value in (0, 1, 999, 1_000, 2_500, 200_000, 10_000_000)] == [
        "0", "1", "999", "1k", "2.5k", "200k", "10M",
    ]  # fmt: skip
