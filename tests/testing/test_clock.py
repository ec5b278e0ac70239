"""Fake time: stands still, moves when told, and never lets durations run backwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from penstock import ConfigError
from penstock.testing import FakeClock

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_it_stands_still_until_it_is_moved() -> None:
    clock = FakeClock(NOON)
    assert clock.now() == clock.now() == NOON
    assert clock.advance("1h30m") == NOON + timedelta(hours=1, minutes=30)
    assert clock.monotonic() == 5400


def test_it_begins_at_the_real_time() -> None:
    before = datetime.now(UTC)
    assert before <= FakeClock().now() <= datetime.now(UTC)


def test_it_can_be_set_back_without_durations_going_back() -> None:
    clock = FakeClock(NOON)
    clock.advance(10)
    clock.set(NOON - timedelta(days=365))
    assert clock.now() == NOON - timedelta(days=365)
    assert clock.monotonic() == 10


@pytest.mark.parametrize("duration", [-1, "soon", None])
def test_a_step_that_is_no_duration_is_refused(duration: object) -> None:
    with pytest.raises(ConfigError, match="duration="):
        FakeClock().advance(duration)  # type: ignore[arg-type]


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ConfigError, match="no time zone"):
        FakeClock().set(datetime(2030, 1, 1))  # noqa: DTZ001 — what is refused
