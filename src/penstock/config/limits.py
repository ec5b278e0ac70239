"""The limits of a config: a table in the file, or a text such as stripe_api=100/second or store:{store_id}=1.

A name is a key as it stands in the code; or queue:NAME or type:NAME, for all jobs of a queue or a type.
"""

from __future__ import annotations

from typing import Any

from penstock.domain.duration import format_duration
from penstock.domain.errors import ConfigError
from penstock.domain.flow.gates import check_key, whole_of
from penstock.domain.options import PERIODS, Concurrency, RateLimit, check_name
from penstock.domain.texts import as_number, brief

RATE_EXAMPLE = "stripe_api=100/second"
CONCURRENCY_EXAMPLE = "queue:reports=5"
_RATE_FORM = 'stripe_api = { requests = 100, per = "second" }'
_CONCURRENCY_FORM = '"queue:reports" = 5'


def read_rates(value: object, name: str) -> tuple[RateLimit, ...]:
    """Sorted by key. Each says how many requests, and in what time: second, minute, hour, day or a duration."""
    given = _table(value, name, RATE_EXAMPLE, _RATE_FORM)
    return tuple(_rate(key, given[key], f"{name}.{key}") for key in sorted(given))


def show_rates(rates: tuple[RateLimit, ...]) -> str:
    return ", ".join(f"{rate.key}={rate.requests}/{_period(rate.per)}" for rate in rates)


def read_concurrency(value: object, name: str) -> tuple[Concurrency, ...]:
    """Sorted by key. Each says how many jobs at once."""
    given = _table(value, name, CONCURRENCY_EXAMPLE, _CONCURRENCY_FORM)
    return tuple(_concurrency(key, given[key], f"{name}.{key}") for key in sorted(given))


def show_concurrency(limits: tuple[Concurrency, ...]) -> str:
    return ", ".join(f"{limit.key}={limit.limit}" for limit in limits)


def _table(value: object, name: str, example: str, form: str) -> dict[str, Any]:
    given = _from_text(value, name, example) if isinstance(value, str) else value
    if not isinstance(given, dict):
        raise ConfigError(f"{name}={brief(value)} is not possible: write [{name}] and below it {form}")
    for key in given:
        _check_key(key, f"{name}.{key}")
    return given


def _from_text(text: str, name: str, example: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, equals, limit = (word.strip() for word in part.rpartition("="))
        if not equals:
            raise ConfigError(f"{name}: {brief(part)} is not a limit: write it like {example}")
        if key in found:
            raise ConfigError(f"{name}: {brief(key)} is there twice, as {found[key]} and as {limit}: leave one")
        found[key] = limit
    return found


def _check_key(key: str, name: str) -> None:
    kind, whole = whole_of(key)
    try:
        if kind:
            check_name(whole, kind)
        else:
            check_key(key, None)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _rate(key: str, given: Any, name: str) -> RateLimit:
    if isinstance(given, str):
        requests, _, per = (part.strip() for part in given.partition("/"))
        given = {"requests": as_number(requests), "per": per or "second"}
    if not isinstance(given, dict) or "requests" not in given or set(given) - {"requests", "per"}:
        raise ConfigError(f"{name}={brief(given)} is not possible: it has requests and per, as in {_RATE_FORM}")
    try:
        return RateLimit(key, given["requests"], given.get("per", "second"))
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _concurrency(key: str, given: Any, name: str) -> Concurrency:
    limit: Any = as_number(given) if isinstance(given, str) else given
    try:
        return Concurrency(key, limit)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _period(seconds: float) -> str:
    return next((word for word, length in PERIODS.items() if length == seconds), format_duration(seconds))
