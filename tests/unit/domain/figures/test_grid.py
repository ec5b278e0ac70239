"""The grid of durations: quantiles within 8 %, published buckets exact."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from penstock.domain.figures.grid import BEYOND, BUCKETS, EDGES, add, counts_up_to, middle, place_of, quantile

DISTRIBUTIONS: dict[str, Callable[[random.Random], float]] = {
    "steady": lambda dice: dice.uniform(0.9, 1.1),
    "exponential": lambda dice: dice.expovariate(1 / 0.3),
    "lognormal": lambda dice: dice.lognormvariate(0.0, 1.5),
    "two humps": lambda dice: dice.gauss(0.02, 0.002) if dice.random() < 0.7 else dice.gauss(40.0, 5.0),
}


def test_it_goes_from_a_millisecond_to_a_day_with_twenty_edges_a_decade() -> None:
    assert (EDGES[0], EDGES[-1], len(EDGES)) == (0.001, 100_000.0, 161)
    assert list(EDGES) == sorted(set(EDGES))
    assert set(BUCKETS) <= set(EDGES)


def test_no_place_is_wider_than_fifteen_percent() -> None:
    assert max(high / low for low, high in pairwise(EDGES)) < 1.17


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9, 0.99])
def test_quantiles_are_within_eight_percent(name: str, part: float) -> None:
    dice = random.Random(7)
    values = sorted(abs(DISTRIBUTIONS[name](dice)) for _ in range(20_000))
    exact = values[int(part * len(values)) - 1]
    found = quantile(Counter(map(place_of, values)), part)
    assert found is not None
    assert found == pytest.approx(exact, rel=0.08)


@given(st.floats(0, 1e9))
def test_a_duration_is_in_the_place_of_the_first_edge_that_it_does_not_exceed(seconds: float) -> None:
    place = place_of(seconds)
    assert place == BEYOND or seconds <= EDGES[place]
    assert place == 0 or seconds > EDGES[place - 1]


def test_what_is_longer_than_all_edges_is_told_as_the_last() -> None:
    assert (place_of(1e6), middle(BEYOND)) == (BEYOND, 1e5)
    assert quantile({BEYOND: 3}, 0.5) == 1e5
    assert counts_up_to({BEYOND: 3, 0: 1})[-1] == 1


def test_what_is_shorter_than_all_or_less_than_nothing_is_told_as_half_the_first() -> None:
    assert place_of(-5.0) == place_of(0.0) == 0
    assert middle(0) == 0.0005


def test_of_none_there_is_no_quantile() -> None:
    assert quantile({}, 0.5) is None


def test_published_buckets_are_exact() -> None:
    values = [0.05, 0.1, 0.10001, 0.5, 3.0, 60.0, 299.9, 300.0, 301.0]
    spread = Counter(map(place_of, values))
    assert counts_up_to(spread) == [sum(value <= bound for value in values) for bound in BUCKETS]


def test_adding_is_by_place() -> None:
    into = {1: 2}
    add(into, {1: 3, 5: 1})
    assert into == {1: 5, 5: 1}
