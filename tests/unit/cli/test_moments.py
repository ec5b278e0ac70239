"""Moments as people write them on a command line, and errors whose advice works."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from penstock.cli.input.moments import parse_moment
from penstock.domain.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("2030-01-02", ["2030-01-02T00:00:00Z", "2030-01-02T00:00:00+02:00"]),
        ("20300102", ["2030-01-02T00:00:00Z", "2030-01-02T00:00:00+02:00"]),
        ("2030-01-02T03:04", ["2030-01-02T03:04:00Z", "2030-01-02T03:04:00+02:00"]),
        ("2030-01-02 03:04:05.5", ["2030-01-02T03:04:05.500000Z", "2030-01-02T03:04:05.500000+02:00"]),
        ("2030-01-02+02:00", ["2030-01-02T00:00:00+02:00"]),
        ("2030-01-02-05:30", ["2030-01-02T00:00:00-05:30"]),
        ("2030-01-02Z", ["2030-01-02T00:00:00Z"]),
        ("tomorrow", ["2030-01-31T12:00:00Z"]),
    ],
)
def test_what_is_offered_instead_is_taken(text: str, offered: list[str]) -> None:
    with pytest.raises(ConfigError, match=f"^--start '{re.escape(text)}' ") as refused:
        parse_moment(text, "--start")
    assert re.findall(r"\d{4}-\d\d-\d\dT\S+", str(refused.value).split("' ", 1)[1]) == offered
    for right in offered:
        assert parse_moment(right, "--start").utcoffset() is not None


def test_a_moment_with_a_zone_is_taken_as_it_is() -> None:
    assert parse_moment("2030-01-02T03:04:05Z", "--start") == datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert parse_moment("2030-01-02T03:04:05+02:00", "--start") == datetime(2030, 1, 2, 1, 4, 5, tzinfo=UTC)
