"""What follows a failed attempt: try again and when, or give up and why (SPEC F1). Pure arithmetic."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.domain.duration import parse_duration
from penstock.domain.errors import ConfigError, DoNotRetry, PayloadError, Retry
from penstock.domain.job import ErrorInfo
from penstock.domain.options import Backoff, Policy

JITTER = 0.1
MESSAGE_CHARS_MAX = 4_000
STACK_CHARS_MAX = 16_000
TRANSIENT_STATUS = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try again after `delay` seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not try again; the job is dead for this reason."""

    reason: str


Verdict = RetryAt | GiveUp


def backoff_seconds(backoff: Backoff, failures: int, random: Callable[[], float]) -> float:
    """The wait after the `failures`-th failure (1 is the first). `random` gives numbers in [0, 1)."""
    exponent = min(failures - 1, 1000)
    try:
        wait = backoff.base * backoff.factor**exponent
    except OverflowError:
        wait = float("inf")
    limit = backoff.cap if backoff.cap is not None else float("inf")
    wait = min(limit, wait)
    return min(limit, wait * (1 + JITTER * (2 * random() - 1)))


def decide(policy: Policy, attempt: int, error: BaseException, random: Callable[[], float]) -> Verdict:
    """What follows when attempt number `attempt` raised `error`."""
    if isinstance(error, DoNotRetry):
        return GiveUp("the handler said: do not retry")
    if isinstance(error, PayloadError):
        return GiveUp("the payload or result does not fit")
    status = http_status(error)
    if status is not None and 400 <= status < 500 and status not in TRANSIENT_STATUS:
        return GiveUp(f"HTTP status {status} will not change by trying again")
    return after_failure(policy, attempt, random, asked_delay(error))


def after_failure(policy: Policy, attempt: int, random: Callable[[], float], asked: float | None = None) -> Verdict:
    """What follows a failure that may be retried, by the number of attempts that are left."""
    if attempt >= policy.attempts:
        return GiveUp(f"all {policy.attempts} attempts used" if policy.attempts > 1 else "its only attempt was used")
    return RetryAt(backoff_seconds(policy.backoff, attempt, random) if asked is None else asked)


def asked_delay(error: BaseException) -> float | None:
    """The delay that the error itself asks for: Retry(after=…) or an HTTP Retry-After in seconds."""
    asked: object = error.after if isinstance(error, Retry) else _header(error, "retry-after")
    if asked is None:
        return None
    try:
        text = asked.strip() if isinstance(asked, str) else asked
        seconds = float(text) if isinstance(text, str) and text.isdigit() else text
        return parse_duration(seconds, "Retry(after)")  # type: ignore[arg-type]
    except ConfigError:
        return None


def http_status(error: BaseException) -> int | None:
    """The HTTP status that an error carries, in the ways that HTTP clients carry it."""
    for holder in (error, _attribute(error, "response")):
        for name in ("status_code", "status", "code"):
            value = _attribute(holder, name)
            if isinstance(value, int) and not isinstance(value, bool) and 100 <= value <= 599:
                return value
    return None


def _header(error: BaseException, name: str) -> object | None:
    for holder in (_attribute(error, "response"), error):
        headers = _attribute(holder, "headers")
        try:
            value = headers.get(name) or headers.get(name.title()) if headers is not None else None
        except Exception:
            continue
        if isinstance(value, str):
            return value
    return None


def _attribute(holder: object, name: str) -> Any:
    """An attribute of somebody else's exception, whose code may raise anything."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def is_transient(error: BaseException) -> bool:
    """Whether the error is of the kind that passes by itself: the network, a timeout, a busy or broken server."""
    status = http_status(error)
    if status is not None:
        return status >= 500 or status in TRANSIENT_STATUS
    return isinstance(error, (ConnectionError, TimeoutError))


def describe_error(error: BaseException) -> ErrorInfo:
    """The error in bounded, storable form. Never raises, whatever the exception's own code does."""
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    status = http_status(error)
    return ErrorInfo(
        type=name[:200],
        message=_clip(_safe_str(error), MESSAGE_CHARS_MAX),
        stack=_clip(_safe_stack(error), STACK_CHARS_MAX),
        code=None if status is None else str(status),
        transient=is_transient(error),
    )


def _safe_str(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as broken:
        return f"<the exception's own str() raised {type(broken).__name__}>"
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _safe_stack(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__, limit=-30)
    return "".join(traceback.format_list(frames)).encode("utf-8", "backslashreplace").decode("utf-8")


def _clip(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n… {len(text) - limit} characters left out …\n{text[-limit // 2 :]}"
