"""Moments and patience as people write them: ISO 8601 with a time zone, and durations."""

from __future__ import annotations

from datetime import datetime

from penstock.domain.duration import parse_duration
from penstock.domain.errors import ConfigError


def parse_moment(text: str, name: str) -> datetime:
    """The aware datetime, or an error that shows how to write one."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ConfigError(f"{name} {text!r} is not a time: write it like 2030-01-31T12:00:00Z") from None
    if moment.utcoffset() is None:
        raise ConfigError(f"{name} {text!r} has no time zone: add one, such as {text}Z for UTC or {text}+02:00")
    return moment


def parse_patience(text: str, name: str) -> float:
    """How long to wait, in seconds: `5s`, `2m`, or a bare number of seconds."""
    seconds = parse_duration(float(text) if text.isdecimal() else text, name)
    if seconds <= 0:
        raise ConfigError(f"{name}={text!r} is not possible: more than zero")
    return seconds
