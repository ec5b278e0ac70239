"""Moments and patience as people write them: ISO 8601 with a time zone, and durations."""

from __future__ import annotations

import re
from datetime import datetime

from penstock.domain.duration import parse_duration
from penstock.domain.errors import ConfigError

_DATE_AND_ZONE = re.compile(r"(\d{4}-\d\d-\d\d)(Z|[+-]\d\d:\d\d)")


def parse_moment(text: str, name: str) -> datetime:
    """The aware datetime, or an error that shows how to write one."""
    alone = _DATE_AND_ZONE.fullmatch(text)  # Python would take the offset for the time of the day.
    if alone is not None:
        raise ConfigError(f"{name} {text!r} has no time of day: write it like {alone[1]}T00:00:00{alone[2]}")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"{name} {text!r} is not a time: write it like 2030-01-31T12:00:00Z") from None
    if moment.utcoffset() is None:
        whole = moment.isoformat()
        raise ConfigError(f"{name} {text!r} has no time zone: add one, such as {whole}Z for UTC or {whole}+02:00")
    return moment


def parse_patience(text: str, name: str) -> float:
    """How long to wait, in seconds: `5s`, `2m`, or a bare number of seconds."""
    seconds = parse_duration(float(text) if text.isdecimal() else text, name)
    if seconds <= 0:
        raise ConfigError(f"{name}={text!r} is not possible: more than zero")
    return seconds
