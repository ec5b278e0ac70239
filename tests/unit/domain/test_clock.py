"""Moments: aware only, exact to the microsecond, bounded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, strategies as st

from penstock.domain.clock import YEAR_MAX, from_us, to_us
from penstock.domain.errors import ConfigError
from penstock.system.clock import SystemClock


@given(st.datetimes(timezones=st.just(UTC)).filter(lambda moment: moment.year <= YEAR_MAX))
def test_there_and_back(moment: datetime) -> None:
    assert from_us(to_us(moment)) == moment


def test_zones_are_one_time_line() -> None:
    utc = datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert to_us(utc) == to_us(utc.astimezone(timezone(timedelta(hours=-7)))) == 1_893_499_200_000_000


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"start=2030-01-01T00:00:00 has no time zone"):
        to_us(datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None), "start")


def test_too_far_away() -> None:
    with pytest.raises(ConfigError, match="9000"):
        to_us(datetime(9500, 1, 1, tzinfo=UTC))


def test_the_clock_of_the_machine() -> None:
    clock = SystemClock()
    before = to_us(datetime.now(UTC))
    assert before <= clock.now_us() <= to_us(datetime.now(UTC))
    assert clock.monotonic() <= clock.monotonic()
