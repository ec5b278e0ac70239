"""What a key can take: how it is read from a file or a text, and how it is shown."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.config.alerts import (
    RULES_EXAMPLE,
    SINKS_EXAMPLE,
    read_rules,
    read_sinks,
    read_url,
    show_rules,
    show_sinks,
    show_url,
)
from penstock.config.limits import (
    CONCURRENCY_EXAMPLE,
    RATE_EXAMPLE,
    read_concurrency,
    read_rates,
    show_concurrency,
    show_rates,
)
from penstock.config.schedules import SCHEDULE_EXAMPLE, read_schedules, show_schedules
from penstock.domain.duration import format_duration, format_size, parse_duration, parse_size
from penstock.domain.errors import ConfigError
from penstock.domain.flow.fair_shares import show_weights
from penstock.domain.texts import DIGITS_MAX, brief
from penstock.engines import EXAMPLES, parse_address
from penstock.store.mask import masked
from penstock.worker.settings import CHECKS, Check

_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True, slots=True)
class Kind:
    """`form` says what to write, `read` makes the value of it, `show` writes it again."""

    form: str
    example: str
    read: Check
    show: Callable[[Any], str] = str
    table: bool = False
    """Whether it may also be a table in the file."""
    secret: bool = False
    """Whether there is more in it than may be shown: then programs are shown what people are."""
    parts: bool = False
    """Whether one of several parts may be wrong: to turn all of them off does not mend that."""


def whole(check: Check) -> Kind:
    return Kind("whole number", "10", lambda value, name: check(_as(int, _WHOLE, value), name))


def names(check: Check) -> Kind:
    return Kind("names", "a,b", check, ", ".join)


def duration(check: Check) -> Kind:
    """A number is seconds, also when it is a text: the environment has nothing else."""
    return Kind(
        "duration", "100ms, 5m or 1h30m", lambda value, name: check(_as(float, _NUMBER, value), name), format_duration
    )


def size(check: Check) -> Kind:
    return Kind("size", "512Mi, 8Gi or 8GB", check, format_size)


def one_of(*words: str) -> Kind:
    def read(value: object, name: str) -> str:
        word = value.lower() if isinstance(value, str) else value
        if word not in words:
            raise ConfigError(f"{name}={brief(value)} does not exist; use one of: {', '.join(words)}")
        return str(word)

    return Kind(f"{', '.join(words[:-1])} or {words[-1]}", words[0], read)


def _store(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{name}={masked(repr(value))} is not an address: {EXAMPLES}")
    parse_address(value)
    return value


def _number(value: object, name: str) -> float:
    number = _as(float, _NUMBER, value)
    if not isinstance(number, (int, float)) or isinstance(number, bool) or not 0 <= number < math.inf:
        raise ConfigError(f"{name}={brief(value)} is not possible: a number of zero or more, such as 4 or 0.5")
    return float(number)


def _switch(value: object, name: str) -> bool:
    if isinstance(value, bool):
        return value
    word = value.lower() if isinstance(value, str) else value
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ConfigError(f"{name}={brief(value)} is neither true nor false")


def _as(kind: type[int] | type[float], pattern: re.Pattern[str], value: object) -> object:
    """A text that spells a number as that number; all else as it is, for the check to judge."""
    return kind(value) if isinstance(value, str) and len(value) <= DIGITS_MAX and pattern.fullmatch(value) else value


STORE = Kind("address", "sqlite:///jobs.db or postgresql://user@host/database", _store, masked, secret=True)
NAME = Kind("name", "mail-1", CHECKS["worker_id"])
PLACE = Kind("host:port", "127.0.0.1:8080", CHECKS["health"])
METRICS_PREFIX = Kind("prefix", "penstock_", CHECKS["metrics_prefix"])
NUMBER = Kind("number", "4 or 0.5", _number, "{:g}".format)
SIZE = size(parse_size)
SWITCH = Kind("true or false", "true", _switch, lambda value: str(value).lower())
DURATION = duration(parse_duration)
RATES = Kind("rates", RATE_EXAMPLE, read_rates, show_rates, table=True)
CONCURRENCY = Kind("limits", CONCURRENCY_EXAMPLE, read_concurrency, show_concurrency, table=True)
SCHEDULES = Kind("schedules", SCHEDULE_EXAMPLE, read_schedules, show_schedules, table=True)
ALERT_RULES = Kind("rules", RULES_EXAMPLE, read_rules, show_rules, table=True)
SINKS = Kind("sinks", SINKS_EXAMPLE, read_sinks, show_sinks, secret=True, parts=True)
URL = Kind("URL", "https://ops.example/alive", read_url, show_url, secret=True)
WEIGHTS = Kind("weights", "acme=3", CHECKS["tenant_weights"], show_weights, table=True)
