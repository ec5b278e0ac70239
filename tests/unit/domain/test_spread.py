"""When the jobs of a spread are due, how periods are counted, and what is refused."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from penstock.domain.errors import ConfigError
from penstock.domain.schedule.spread import Spread, make_spread, start_moment

HOUR = 3600 * 1_000_000
DAY = 24 * HOUR


def test_each_at_its_own_moment() -> None:
    spread = make_spread("resync", "24h", None, "once")
    assert list(spread.moments(4, 7)) == [(0, 7), (1, 7 + 6 * HOUR), (2, 7 + 12 * HOUR), (3, 7 + 18 * HOUR)]


def test_in_batches() -> None:
    found = list(make_spread("resync", "24h", 6, "once").moments(8, 0))
    assert [number for number, _ in found] == list(range(8))
    assert Counter(due // (4 * HOUR) for _, due in found) == {0: 2, 1: 1, 2: 1, 3: 2, 4: 1, 5: 1}
    assert all(due % (4 * HOUR) == 0 for _, due in found)


def test_all_in_every_batch() -> None:
    found = list(make_spread("resync", timedelta(days=1), 6, "each").moments(2, 5))
    assert found == [(number, 5 + batch * 4 * HOUR) for batch in range(6) for number in range(2)]


@given(st.integers(1, 500), st.none() | st.integers(1, 50), st.integers(1, 10 * DAY), st.integers(0, 2**52))
def test_as_even_as_possible_and_within_the_period(count: int, batches: int | None, period: int, start: int) -> None:
    found = list(Spread("x", period, batches, "once").moments(count, start))
    assert [number for number, _ in found] == list(range(count)), "each of them once, in the order of time"
    moments = [due for _, due in found]
    assert moments == sorted(moments)
    assert start == moments[0]
    assert moments[-1] < start + period
    if batches is not None:
        sizes = Counter(number * batches // count for number in range(count)).values()
        assert max(sizes) - min(sizes) <= 1
        assert len(set(moments)) <= batches


@given(st.integers(1, 1000 * DAY), st.integers(0, 2**52), st.integers(0, 2**52))
def test_the_key_is_held_for_as_long_as_its_period_can_be_asked_for(period: int, start: int, now: int) -> None:
    """Whenever it is first spread: there is no moment at which it is free again and not refused."""
    spread = Spread("x", period, None, "once")
    end = (start // period + 1) * period
    known_until = end + max(period, min(366 * DAY, 10_000 * period))
    if now >= known_until:
        with pytest.raises(ConfigError, match=r"is too long ago: .* not known any more; give a start after"):
            spread.held_seconds(start, now)
    else:
        assert now + spread.held_seconds(start, now) * 1_000_000 > known_until
    assert spread.key(start) == spread.key(end - 1) != spread.key(end)


@pytest.mark.parametrize(("period", "kept"), [("24h", 366 * DAY), ("1s", 10_000 * 1_000_000), ("800d", 800 * DAY)])
def test_how_long_ago_a_period_may_be(period: str, kept: int) -> None:
    spread = make_spread("x", period, None, "once")
    assert spread.held_seconds(0, spread.period_us + kept - 1) > 0
    with pytest.raises(ConfigError, match="start=1970-01-01T00:00:00"):
        spread.held_seconds(0, spread.period_us + kept)


def test_how_many_jobs_it_may_be() -> None:
    for batches, mode, calls in ((None, "once", 1_000_000), (9, "once", 1_000_000), (1000, "each", 1000)):
        spread = make_spread("x", "24h", batches, mode)  # type: ignore[arg-type]
        spread.refuse_too_many(calls)
        with pytest.raises(ConfigError, match="at most 1,000,000 are stored at once"):
            spread.refuse_too_many(calls + 1)


def test_names_and_lengths_do_not_share_periods() -> None:
    keys = {Spread(name, period, None, "once").key(DAY) for name in "ab" for period in (DAY, HOUR)}
    assert len(keys) == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": ""}, "the name of a spread='' is not a usable name"),
        ({"name": "two words"}, "is not a usable name"),
        ({"period": 0}, "period=0 is not possible: more than zero, such as '24h'"),
        ({"period": "-1h"}, "period='-1h' is not a duration"),
        ({"period": -5}, "period=-5 is not possible"),
        ({"period": 1e-9}, "period=1e-09 is not possible"),
        ({"batches": 0}, "batches=0 is not possible: a whole number from 1 to 10000, or None"),
        ({"batches": 10_001}, "batches=10001 is not possible"),
        ({"batches": 1.5}, "batches=1.5 is not possible"),
        ({"batches": True}, "batches=True is not possible"),
        ({"mode": "all"}, "mode='all' does not exist; use one of: once, each"),
        ({"mode": "each"}, "say how many, such as batches=6"),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        make_spread(**{"name": "resync", "period": "24h", "batches": None, "mode": "once", **arguments})
    assert message in str(refused.value)


def test_the_start_is_an_aware_moment() -> None:
    wrong: Any = "2030-01-01"
    with pytest.raises(ConfigError, match="start=2030-01-01T00:00:00 has no time zone"):
        start_moment(datetime(2030, 1, 1))  # noqa: DTZ001
    with pytest.raises(ConfigError, match="start='2030-01-01' is not a time"):
        start_moment(wrong)
    assert start_moment(datetime(1970, 1, 1, 1, tzinfo=UTC)) == HOUR
    assert start_moment(None) is None
