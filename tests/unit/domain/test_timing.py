"""When schedules are due: over all time zones, with one rule for clocks that are set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from penstock.domain.clock import MICROSECONDS, from_us, to_us
from penstock.domain.errors import ConfigError
from penstock.domain.schedule.timing import Timing, make_timing
from penstock.domain.schedule.zones import zone as zone_of, zone_names

NOW = to_us(datetime(2026, 11, 16, tzinfo=UTC))
TWO_YEARS = 2 * 366 * 86400 * MICROSECONDS
HOUR = 3600 * MICROSECONDS

zones = st.sampled_from(sorted(zone_names()))
moments = st.integers(NOW - TWO_YEARS, NOW + TWO_YEARS)
hours_written_out = st.builds("{} {} * * *".format, st.integers(0, 59), st.integers(0, 23))
any_cron = st.one_of(
    hours_written_out,
    st.sampled_from(
        ["*/15 * * * *", "* * * * *", "5 */3 * * *", "*/10 */2 * * *", "0 0 1 * *", "30 1,2,3 * * SUN",
         "0 9-17 * * MON-FRI", "0 0 L * *", "0 0 * * 1#2", "15 2 29 2 *", "0 * 29 2 *", "0 * 1 1 *"]
    ),
)  # fmt: skip


def ticks(timing: Timing, start: int, count: int) -> list[int]:
    found, at = list[int](), start
    for _ in range(count):
        after = timing.after(at)
        assert after is not None
        found.append(at := after)
    return found


def at(text: str) -> int:
    return to_us(datetime.fromisoformat(text).replace(tzinfo=UTC))


def wall(zone: str, tick: int) -> datetime:
    """What a clock there shows. Not that of the operating system, which may know other rules."""
    return zone_of(zone).local(tick // MICROSECONDS)


def shown(found: list[int]) -> list[str]:
    return [from_us(moment).strftime("%d %H:%M") for moment in found]


# Properties


@given(any_cron, zones, moments)
@settings(max_examples=200, deadline=None)
def test_ticks_come_after_grow_and_none_is_left_out(cron: str, zone: str, moment: int) -> None:
    timing = make_timing(cron=cron, timezone=zone)
    found = ticks(timing, moment, 4)
    assert found[0] > moment
    assert all(first < second for first, second in pairwise(found))
    for first, second in pairwise([moment, *found]):
        middle = (first + second) // 2
        assert timing.after(second - 1) == timing.after(middle) == second


@given(any_cron, zones, moments)
@settings(max_examples=200, deadline=None)
def test_six_fields_with_second_zero_are_the_same_as_five(cron: str, zone: str, moment: int) -> None:
    five, six = make_timing(cron=cron, timezone=zone), make_timing(cron=f"0 {cron}", tz=zone)
    assert ticks(five, moment, 3) == ticks(six, moment, 3)


@given(hours_written_out, zones, moments)
@settings(max_examples=100, deadline=None)
def test_a_time_of_the_day_comes_exactly_once_a_day(cron: str, zone: str, moment: int) -> None:
    """On the wall of that place, on every day that there is; also where clocks are set."""
    timing = make_timing(cron=cron, timezone=zone)
    days = [wall(zone, tick).date() for tick in ticks(timing, moment, 370)]
    assert all(second - first == timedelta(days=1) for first, second in pairwise(days))


@given(zones, moments)
@settings(max_examples=100, deadline=None)
def test_every_quarter_of_an_hour_has_no_hole(zone: str, moment: int) -> None:
    """Of an hour field that is *: the clock may be set by anything, but shows a quarter again soon."""
    timing = make_timing(cron="*/15 * * * *", timezone=zone)
    found = ticks(timing, moment, 120)
    assert max(second - first for first, second in pairwise(found)) <= HOUR // 4
    assert {wall(zone, tick).minute % 15 for tick in found} == {0}


CRONS = ["*/15 * * * *", "0 */2 * * *", "30 2 * * *", "*/10 1-3 * * SUN", "0 0 31 * *"]


@given(st.sampled_from(CRONS), zones, moments, st.integers(0, 10 * 24 * 3600 * MICROSECONDS), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_latest_is_the_one_that_counting_would_find(
    cron: str, zone: str, moment: int, later: int, ends: bool
) -> None:
    timing = make_timing(cron=cron, timezone=zone)
    first = timing.after(moment)
    assert first is not None
    until = first + later
    if ends:
        timing = msgspec.structs.replace(timing, end=first + later // 2)
    counted = first
    while (ahead := timing.after(counted)) is not None and ahead <= until:
        counted = ahead
    assert timing.latest(first, until) == counted


@given(st.integers(1, 10**4), moments, st.integers(0, 100), st.integers(0, 10**10))
def test_the_latest_of_an_interval(seconds: int, anchor: int, ticks: int, rest: int) -> None:
    every = seconds * MICROSECONDS
    last = anchor + ticks * every
    assert make_timing(every=seconds).latest(anchor, last + rest % every, anchor) == last


@pytest.mark.parametrize(
    ("cron", "latest"),
    [
        ("* * * * * *", "2026-12-01T00:00:00"),
        ("* * * * 1 *", "2026-01-31T23:59:59"),
        ("* * 0 1 1 *", "2026-01-01T00:59:59"),
    ],
)
def test_the_latest_of_very_many_is_found_in_few_looks(cron: str, latest: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they come in heaps: a walk through the last of them would hold up the event loop for seconds."""
    find, looks = Timing.after, list[int]()

    def after(self: Timing, moment: int, anchor: int = 0) -> int | None:
        looks.append(moment)
        return find(self, moment, anchor)

    monkeypatch.setattr(Timing, "after", after)
    found = make_timing(cron=cron).latest(at("2020-01-01T00:00:00"), at("2026-12-01T00:00:00"))
    assert (found, len(looks) < 70) == (at(latest), True)


@given(st.integers(1, 10**6), moments, moments)
def test_intervals_are_counted_from_their_anchor(seconds: int, anchor: int, moment: int) -> None:
    timing = make_timing(every=seconds)
    found = timing.after(moment, anchor)
    assert found is not None
    assert moment < found or moment < anchor == found
    assert found - moment <= seconds * MICROSECONDS or found == anchor
    assert (found - anchor) % (seconds * MICROSECONDS) == 0


# Clocks that are set, one by one

BERLIN_SPRING, BERLIN_AUTUMN = "2026-03-28T12:00", "2026-10-24T12:00"


@pytest.mark.parametrize(
    ("cron", "start", "expected"),
    [
        # 02:30 does not exist on the 29th: it comes when the clock has leapt to 03:00.
        ("30 2 * * *", BERLIN_SPRING, ["29 01:00", "30 00:30"]),
        ("15 30 2 * * *", BERLIN_SPRING, ["29 01:00", "30 00:30"]),
        # Several that do not exist are one.
        ("*/20 2,3 * * *", BERLIN_SPRING, ["29 01:00", "29 01:20", "29 01:40", "30 00:00"]),
        # 02:30 is there twice on the 25th: it comes the first time.
        ("30 2 * * *", BERLIN_AUTUMN, ["25 00:30", "26 01:30"]),
        ("30 2,3 * * *", BERLIN_AUTUMN, ["25 00:30", "25 02:30", "26 01:30"]),
        # What follows the clock leaves out what is not there, and comes twice.
        ("30 * * * *", "2026-03-29T00:00", ["29 00:30", "29 01:30", "29 02:30"]),
        ("30 */2 * * *", "2026-03-28T22:00", ["28 23:30", "29 02:30"]),
        ("30 */2 * * *", "2026-10-24T21:00", ["24 22:30", "25 00:30", "25 01:30", "25 03:30"]),
    ],
)
def test_clocks_that_are_set(cron: str, start: str, expected: list[str]) -> None:
    timing = make_timing(cron=cron, timezone="Europe/Berlin")
    assert shown(ticks(timing, at(start), len(expected))) == expected


def test_half_an_hour_and_a_whole_day() -> None:
    lord_howe = make_timing(cron="15 2 * * *", tz="Australia/Lord_Howe")  # Leaps by half an hour, at 02:00.
    assert shown(ticks(lord_howe, at("2026-10-03T00:00"), 2)) == ["03 15:30", "04 15:15"]
    apia = make_timing(cron="0 3 * * *", tz="Pacific/Apia")  # Left out the 30th of December 2011.
    assert shown(ticks(apia, at("2011-12-28T20:00"), 3)) == ["29 13:00", "30 10:00", "30 13:00"]


# Start, end, intervals


def test_start_and_end_are_the_first_and_the_last_moment() -> None:
    bounds: dict[str, Any] = {"start": datetime(2026, 1, 1, 6, tzinfo=UTC), "end": datetime(2026, 1, 1, 8, tzinfo=UTC)}
    hourly = make_timing(cron="0 * * * *", **bounds)
    assert shown(ticks(hourly, 0, 3)) == ["01 06:00", "01 07:00", "01 08:00"]
    assert hourly.after(at("2026-01-01T08:00")) is None
    interval = make_timing(every="90m", **bounds)
    assert shown(ticks(interval, 0, 2)) == ["01 06:00", "01 07:30"]
    assert interval.after(at("2026-01-01T07:30")) is None


def test_a_timing_reads_as_it_was_written() -> None:
    assert str(make_timing(cron=" 0  3 * * mon-fri ", tz="Europe/Berlin")) == "0 3 * * MON-FRI (Europe/Berlin)"
    assert str(make_timing(every="90m")) == "every 1h30m"


# What people get wrong

DAILY = {"cron": "0 3 * * *"}
START = datetime(2026, 1, 2, tzinfo=UTC)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({}, "when\\? Give cron= or every="),
        ({"cron": "0 3 * * *", "every": "1h"}, "exclude each other"),
        ({"cron": "0 0 30 2 *"}, "never fires: no such month has that day"),
        ({"cron": "0 0 31 4,6 *"}, "never fires"),
        ({"cron": "0 0 1 2 MON#5"}, None),
        ({"cron": "0 0 */31 2 *"}, None),
        ({"cron": "0 3 * *"}, "wrong number of fields; write minute hour"),
        ({"cron": "@daily"}, "wrong number of fields"),
        ({"cron": ""}, "wrong number of fields"),
        ({"cron": "61 3 * * *"}, "bad minute"),
        ({"cron": "0 3 32 * *"}, "bad day-of-month"),
        ({"cron": "0 3 * * FUN"}, "bad day-of-week"),
        ({"cron": "*/0 * * * *"}, "bad minute"),
        ({"cron": 5}, "is not a text"),
        ({"cron": "1" * 5000}, "is not a text of 200 characters at most"),
        ({**DAILY, "timezone": "Berlin"}, "did you mean 'Europe/Berlin'"),
        ({**DAILY, "tz": "europe/berlni"}, "did you mean 'Europe/Berlin'"),
        ({**DAILY, "tz": "qqqq"}, "such as 'Europe/Berlin'"),
        ({**DAILY, "tz": "../../etc/passwd"}, "does not exist"),
        ({**DAILY, "tz": UTC}, "write it as a text"),
        ({**DAILY, "tz": "UTC", "timezone": "UTC"}, "two words for one thing"),
        ({"every": 0}, "every=0 is not possible: 1s or more"),
        ({"every": "500ms"}, "1s or more"),
        ({"every": -5}, "every=-5 is not possible"),
        ({"every": "often"}, "every='often' is not a duration"),
        ({**DAILY, "start": datetime(2026, 1, 1)}, "start=.* has no time zone"),  # noqa: DTZ001
        ({**DAILY, "end": "tomorrow"}, "end='tomorrow' is not a time"),
        ({**DAILY, "start": START, "end": START - timedelta(days=1)}, "end=.* is before start=.*: exchange"),
        ({**DAILY, "start": START, "end": START + timedelta(hours=1)}, "before the first time, 2026-01-02T03:00"),
        ({"every": "1h", "start": START, "end": START}, None),
    ],
)
def test_what_people_get_wrong_is_told_at_once(wrong: dict[str, Any], told: str | None) -> None:
    if told is None:
        make_timing(**wrong)
        return
    with pytest.raises(ConfigError, match=told):
        make_timing(**wrong)
