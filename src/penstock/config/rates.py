"""The rate limits of a config: a table in the file, or a text such as stripe_api=100/second,github=5000/hour."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.domain.duration import format_duration
from penstock.domain.errors import ConfigError
from penstock.domain.options import PERIODS, RateLimit

EXAMPLE = "stripe_api=100/second"
_FORM = 'stripe_api = { requests = 100, per = "second" }'


def read_rates(value: object, name: str) -> tuple[RateLimit, ...]:
    """Sorted by key. Each says how many requests, and in what time: second, minute, hour, day or a duration."""
    given = dict(_from_text(value, name)) if isinstance(value, str) else value
    if not isinstance(given, dict):
        raise ConfigError(f"{name}={value!r} is not possible: write [{name}] and below it {_FORM}")
    return tuple(_rate(key, given[key], f"{name}.{key}") for key in sorted(given))


def show_rates(rates: tuple[RateLimit, ...]) -> str:
    return ", ".join(f"{rate.key}={rate.requests}/{_period(rate.per)}" for rate in rates)


def _from_text(text: str, name: str) -> Iterator[tuple[str, str]]:
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, rate = part.rpartition("=")
        if not equals:
            raise ConfigError(f"{name}: {part!r} is not a rate limit: write it like {EXAMPLE}")
        yield key.strip(), rate.strip()


def _rate(key: str, given: Any, name: str) -> RateLimit:
    if isinstance(given, str):
        requests, _, per = (part.strip() for part in given.partition("/"))
        given = {"requests": int(requests) if requests.isdecimal() else requests, "per": per or "second"}
    if not isinstance(given, dict) or "requests" not in given or set(given) - {"requests", "per"}:
        raise ConfigError(f"{name}={given!r} is not possible: it has requests and per, as in {_FORM}")
    try:
        return RateLimit(key, given["requests"], given.get("per", "second"))
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _period(seconds: float) -> str:
    return next((word for word, length in PERIODS.items() if length == seconds), format_duration(seconds))
