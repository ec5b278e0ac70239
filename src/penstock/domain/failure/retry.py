"""What follows a failed attempt: try again and when, or give up and why (F1). Pure arithmetic."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import msgspec

from penstock.domain.duration import parse_duration
from penstock.domain.errors import DoNotRetry, PayloadError, Retry
from penstock.domain.failure.causes import chain, parts
from penstock.domain.failure.error_codes import error_code
from penstock.domain.failure.http_errors import http_status, retry_after
from penstock.domain.failure.secrets import hide_secrets
from penstock.domain.failure.snooze import Snooze, snooze_of, snooze_seconds
from penstock.domain.failure.transient import TRANSIENT_STATUS, is_transient
from penstock.domain.job import ErrorInfo
from penstock.domain.options import Backoff, Policy

JITTER = 0.1
TYPE_CHARS_MAX = 200
MESSAGE_CHARS_MAX = 4_000
STACK_CHARS_MAX = 16_000
PARTS_TOLD = 3


class RetryAt(msgspec.Struct, frozen=True, tag=True):
    """Try again after `delay` seconds. `reason` says what the error does not."""

    delay: float
    reason: str | None = None


class GiveUp(msgspec.Struct, frozen=True, tag=True):
    """Do not try again; the job is dead for this reason."""

    reason: str


class PutOff(msgspec.Struct, frozen=True, tag=True):
    """It has not failed: the handler wants to be called again after `delay` seconds. `message` says why."""

    delay: float
    message: str


Verdict = RetryAt | GiveUp | PutOff


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


def put_off(policy: Policy, snoozes: int, error: BaseException) -> PutOff | None:
    """What follows if the error is a snooze, and the job was not snoozed too often before."""
    snooze = snooze_of(error) if snoozes < policy.snoozes else None
    return None if snooze is None else PutOff(snooze.delay, _clip(_safe_str(snooze), MESSAGE_CHARS_MAX))


def decide(
    policy: Policy, attempt: int, error: BaseException, random: Callable[[], float], now_us: int
) -> RetryAt | GiveUp:
    """What follows when attempt number `attempt` raised `error`.

    In a group of errors one that says "never again" is enough; statuses must all be hopeless. Only an error's own
    status ends a job, not that of an error which it was raised from: whoever wraps an error has handled it, and a
    needless retry costs less than a job that is given up too soon.
    """
    found = parts(error)
    if any(isinstance(one, DoNotRetry) for one in found):
        return GiveUp("the handler said: do not retry")
    if any(isinstance(one, PayloadError) for one in found):
        return GiveUp("the payload or result does not fit")
    statuses = [http_status(one) for one in found]
    if all(_hopeless(status) for status in statuses):
        return GiveUp(f"HTTP status {statuses[0]} will not change by trying again")
    verdict = after_failure(policy, attempt, random, asked_delay(error, now_us))
    return verdict if snooze_of(error) is None else _past_snoozes(policy, verdict)


def _hopeless(status: int | None) -> bool:
    return status is not None and 400 <= status < 500 and status not in TRANSIENT_STATUS


def _past_snoozes(policy: Policy, verdict: RetryAt | GiveUp) -> RetryAt | GiveUp:
    """The reason says why a snooze has become a failure."""
    snoozes = "its only snooze was used" if policy.snoozes == 1 else f"all {policy.snoozes} snoozes used"
    used = snoozes if policy.snoozes > 0 else "it may not be snoozed"
    if isinstance(verdict, RetryAt):
        return RetryAt(verdict.delay, f"{used}: the attempt failed")
    return GiveUp(f"{used}, {verdict.reason}")


def after_failure(
    policy: Policy, attempt: int, random: Callable[[], float], asked: float | None = None
) -> RetryAt | GiveUp:
    """What follows a failure that may be retried, by the number of attempts that are left."""
    if attempt >= policy.attempts:
        return GiveUp(f"all {policy.attempts} attempts used" if policy.attempts > 1 else "its only attempt was used")
    return RetryAt(backoff_seconds(policy.backoff, attempt, random) if asked is None else asked)


def asked_delay(error: BaseException, now_us: int) -> float | None:
    """The delay that the error asks for, or else one that it was raised from: Retry(after=…), a Snooze that is none any
    more, or an HTTP Retry-After.

    In a group of errors the longest counts.
    """
    asked = [_first_asked(part, now_us) for part in parts(error)]
    return max((delay for delay in asked if delay is not None), default=None)


def _first_asked(error: BaseException, now_us: int) -> float | None:
    delays = (_asked(one, now_us) for one in chain(error))
    return next((delay for delay in delays if delay is not None), None)


def _asked(error: BaseException, now_us: int) -> float | None:
    if isinstance(error, Snooze):
        return snooze_seconds(error)
    if not isinstance(error, Retry):
        return retry_after(error, now_us)
    try:
        return None if error.after is None else parse_duration(_number(error.after), "Retry(after)")
    except Exception:  # Not a duration; perhaps not even something that can say what it is.
        return None


def _number(after: Any) -> Any:
    """A text of digits means seconds."""
    return float(after) if isinstance(after, str) and after.strip().isdecimal() else after


def describe_error(error: BaseException, redact: Callable[[str], str] = hide_secrets) -> ErrorInfo:
    """The error in bounded, storable form, without what `redact` takes out of a text. Never raises, whatever the
    exception's own code does.
    """
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    found = parts(error)
    code = error_code(found[0]) if len(found) == 1 else None
    return ErrorInfo(
        type=_storable(name[:TYPE_CHARS_MAX]),
        message=_clip(redact("; ".join(_messages(error, found))), MESSAGE_CHARS_MAX),
        stack=_clip(redact("".join(_stacks(error, found))), STACK_CHARS_MAX),
        code=None if code is None else redact(code),
        transient=is_transient(error),
    )


def redacted(info: ErrorInfo, redact: Callable[[str], str]) -> ErrorInfo:
    """What another process has described, without what this one takes out of a text."""
    return msgspec.structs.replace(info, message=redact(info.message), stack=redact(info.stack))


def _messages(error: BaseException, found: list[BaseException]) -> list[str]:
    """What the error says; a group only counts, so its first parts have their say too."""
    own = [] if found[0] is error else [f"{type(one).__qualname__}: {_safe_str(one)}" for one in found[:PARTS_TOLD]]
    return [_safe_str(error), *own]


def _stacks(error: BaseException, found: list[BaseException]) -> list[str]:
    """Where the error was raised; of a group also where its first part was."""
    return [_safe_stack(one) for one in ([error] if found[0] is error else [error, found[0]])]


def _safe_str(error: BaseException) -> str:
    try:
        text = str(error)
    except BaseException as broken:
        return f"<the exception's own str() raised {type(broken).__name__}>"
    return _storable(text)


def _safe_stack(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__, limit=-30)
    return _storable("".join(traceback.format_list(frames)))


def _storable(text: str) -> str:
    """The text with halves of characters in their escaped spelling."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _clip(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return f"{text[: limit // 2]}\n… {len(text) - limit} characters left out …\n{text[-limit // 2 :]}"
