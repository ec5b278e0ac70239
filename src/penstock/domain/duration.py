"""Durations and sizes as people write them: "100ms", "5m", "1h30m", "8Gi"."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from penstock.domain.errors import ConfigError
from penstock.domain.texts import brief

Duration = str | timedelta | int | float

UNIT_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
UNIT_BYTES = {
    "": 1, "B": 1,
    "K": 10**3, "KB": 10**3, "Ki": 2**10, "KiB": 2**10,
    "M": 10**6, "MB": 10**6, "Mi": 2**20, "MiB": 2**20,
    "G": 10**9, "GB": 10**9, "Gi": 2**30, "GiB": 2**30,
    "T": 10**12, "TB": 10**12, "Ti": 2**40, "TiB": 2**40,
}  # fmt: skip
_SHOWN = ("Ti", "Gi", "Mi", "Ki", "TB", "GB", "MB", "KB")
DURATION_SECONDS_MAX = 100 * 366 * 86400.0

_PART = re.compile(r"(\d+(?:\.\d+)?)\s*(us|ms|s|m|h|d|w)")
_WHOLE = re.compile(rf"\s*(?:{_PART.pattern}\s*)+")
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_duration(value: Duration, name: str = "duration") -> float:
    """Seconds of `value`. `name` is the option that the error message blames."""
    seconds = _raw_seconds(value, name)
    if not math.isfinite(seconds) or seconds < 0:
        raise ConfigError(f"{name}={brief(value)} is not possible: a duration is zero or more and finite")
    if seconds > DURATION_SECONDS_MAX:
        raise ConfigError(f"{name}={brief(value)} is too long: at most 100 years")
    return seconds


def _raw_seconds(value: Duration, name: str) -> float:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return math.inf
    if isinstance(value, str) and _WHOLE.fullmatch(value):
        return sum(float(number) * UNIT_SECONDS[unit] for number, unit in _PART.findall(value))
    raise ConfigError(
        f"{name}={brief(value)} is not a duration: write it like '100ms', '5m' or '1h30m', as a timedelta, or in "
        "seconds"
    )


def format_duration(seconds: float) -> str:
    """The shortest faithful form for people: 0.1 → '100ms', 90 → '1m30s'."""
    if seconds < 1:
        return f"{seconds * 1000:.3g}ms"
    parts, rest = [], round(seconds, 3)
    for unit in ("d", "h", "m"):
        count, rest = divmod(rest, UNIT_SECONDS[unit])
        if count:
            parts.append(f"{int(count)}{unit}")
    if rest or not parts:
        parts.append(f"{rest:.3f}".rstrip("0").rstrip(".") + "s")
    return "".join(parts)


def parse_size(value: str | int, name: str = "size") -> int:
    """Bytes of `value`: '8Gi' is 8 × 2^30, '8GB' is 8 × 10^9."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in UNIT_BYTES:
        raise ConfigError(f"{name}={brief(value)} is not a size: write it like '512Mi', '8Gi' or '8GB', or in bytes")
    amount = float(match[1]) * UNIT_BYTES[match[2]]
    if amount == math.inf:
        raise ConfigError(f"{name}={brief(value)} is not possible: a size is finite")
    return int(amount)


def format_size(size: int) -> str:
    """The shortest faithful form for people: 8 × 2^30 → '8Gi', 8 × 10^9 → '8GB', 1000001 → '1000001'."""
    exact = [(size // UNIT_BYTES[unit], unit) for unit in _SHOWN if size and size % UNIT_BYTES[unit] == 0]
    return "{}{}".format(*min(exact)) if exact else str(size)
