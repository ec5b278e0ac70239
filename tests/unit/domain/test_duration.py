"""Durations and sizes as people write them."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from penstock.domain.duration import format_duration, format_size, parse_duration, parse_size
from penstock.domain.errors import ConfigError


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("100ms", 0.1), ("5m", 300), ("1h30m", 5400), ("1h 30m", 5400), (" 2 d ", 172800), ("1w", 604800),
        ("250us", 0.00025), ("1.5s", 1.5), (timedelta(minutes=2), 120), (7, 7), (0.25, 0.25), (0, 0), ("0s", 0),
    ],
)  # fmt: skip
def test_durations(written: Any, seconds: float) -> None:
    assert parse_duration(written) == pytest.approx(seconds)


@pytest.mark.parametrize("written", ["", "5", "m", "5 minutes", "-5s", "1h-3m", None, True, [], "5m!", "1e3s"])
def test_what_is_not_a_duration(written: Any) -> None:
    with pytest.raises(ConfigError, match="delay="):
        parse_duration(written, "delay")


@pytest.mark.parametrize("written", [-1, -0.001, math.inf, math.nan, timedelta(seconds=-1)])
def test_what_is_not_possible(written: Any) -> None:
    with pytest.raises(ConfigError, match="zero or more and finite"):
        parse_duration(written)


@pytest.mark.parametrize("written", ["101w" * 100, 10**12, 10**400])
def test_what_is_too_long(written: Any) -> None:
    with pytest.raises(ConfigError):
        parse_duration(written)


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (0, "0ms"),
        (0.1, "100ms"),
        (0.0005, "0.5ms"),
        (1, "1s"),
        (1.5, "1.5s"),
        (90, "1m30s"),
        (3600, "1h"),
        (90061, "1d1h1m1s"),
    ],
)
def test_the_shortest_form(seconds: float, written: str) -> None:
    assert format_duration(seconds) == written


@given(st.integers(0, 10**9).map(lambda milliseconds: milliseconds / 1000))
def test_what_is_shown_can_be_read_again(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == pytest.approx(seconds, rel=1e-2, abs=1e-6)


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("8Gi", 8 * 2**30),
        ("8GB", 8 * 10**9),
        ("512Mi", 512 * 2**20),
        ("1.5K", 1500),
        ("10", 10),
        (10, 10),
        (0, 0),
        (" 1 TiB ", 2**40),
    ],
)
def test_sizes(written: Any, size: int) -> None:
    assert parse_size(written) == size


@pytest.mark.parametrize("written", ["", "8Xi", "-1", "Gi", -1, True, None, 1.5, "8 G i"])
def test_what_is_not_a_size(written: Any) -> None:
    with pytest.raises(ConfigError, match="memory="):
        parse_size(written, "memory")


@pytest.mark.parametrize(
    ("size", "written"),
    [(8 * 2**30, "8Gi"), (8 * 10**9, "8GB"), (512 * 2**20, "512Mi"), (1_000_001, "1000001"), (0, "0"), (1024, "1Ki")],
)
def test_the_shortest_form_of_a_size(size: int, written: str) -> None:
    assert format_size(size) == written


@given(st.integers(0, 2**50))
def test_a_size_that_is_shown_can_be_read_again(size: int) -> None:
    assert parse_size(format_size(size)) == size
