"""How many workers it takes until a moment, and which moment that is."""

from __future__ import annotations

from datetime import datetime, time

import pytest

from penstock.domain.errors import ConfigError
from penstock.observe.figures.capacity import is_stale, moment_of, workers_for
from penstock.store.contract import CapacityRow, Sample

NOW = datetime.fromisoformat("2030-01-31T22:30:00+01:00")


def row(pending: int, rate: float | None) -> CapacityRow:
    return CapacityRow(
        type="t", queue="q", capability="c", pending=pending, ready=0, claimed=0, running=0, completed_last_hour=0,
        failed_last_hour=0, active_workers=1, avg_duration_seconds=None, jobs_per_worker_hour=rate,
        hours_to_drain=None, workers_for_1_hour=None, workers_for_4_hours=None, workers_for_8_hours=None, sampled_at=0,
    )  # fmt: skip


@pytest.mark.parametrize(("hours", "workers"), [(1, 10), (4, 3), (8, 2), (0.5, 20), (9.5, 2), (10, 1), (1000, 1)])
def test_it_is_rounded_up(hours: float, workers: int) -> None:
    assert workers_for(row(500, 50.0), hours) == workers


def test_nothing_pending_takes_nobody_and_what_is_not_known_is_not_made_up() -> None:
    assert workers_for(row(0, 50.0), 1) == 0
    assert workers_for(row(500, None), 1) is None


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("08:00", "2030-02-01T08:00:00+01:00"),
        ("8:05", "2030-02-01T08:05:00+01:00"),
        ("23:59", "2030-01-31T23:59:00+01:00"),
        ("22:30", "2030-02-01T22:30:00+01:00"),
        ("2030-01-31T22:00:00Z", "2030-01-31T22:00:00+00:00"),
    ],
)
def test_the_next_time_that_a_clock_shows_this(text: str, moment: str) -> None:
    assert moment_of(text, NOW) == datetime.fromisoformat(moment)


@pytest.mark.parametrize("given", [time(8), datetime.fromisoformat("2030-02-01T08:00:00+01:00")])
def test_times_and_moments_are_taken_too(given: time | datetime) -> None:
    assert moment_of(given, NOW) == datetime.fromisoformat("2030-02-01T08:00:00+01:00")


def test_what_is_no_time_at_all_is_an_error_that_says_so() -> None:
    with pytest.raises(ConfigError, match="by=5 is not a time"):
        moment_of(5, NOW)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("age", "took", "stale"),
    [(59, 0.01, False), (61, 0.01, True), (200, 2.0, False), (301, 2.0, True)],
)
def test_after_three_rests_nobody_counts_any_more(age: float, took: float, stale: bool) -> None:
    sample = Sample(at=0, seconds=took, gauges=(), ended=None)
    assert is_stale(sample, int(age * 1_000_000)) is stale


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("24:00", "write it like 08:00"), ("soon", "write it like 08:00"), ("", "write it like 08:00"),
        ("2030-02-01T08:00:00", "no time zone"), ("2030-01-31T20:00:00Z", "is past"),
    ],
)  # fmt: skip
def test_what_is_no_time_to_come_is_an_error_that_says_so(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        moment_of(text, NOW)
