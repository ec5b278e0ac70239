"""What follows a failed attempt."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given, strategies as st

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import DoNotRetry, PayloadError, Retry
from penstock.domain.failure.retry import (
    MESSAGE_CHARS_MAX,
    STACK_CHARS_MAX,
    GiveUp,
    RetryAt,
    Verdict,
    after_failure,
    asked_delay,
    backoff_seconds,
    decide,
    describe_error,
)
from penstock.domain.options import Backoff, Exponential, Fixed, Policy
from tests.unit.domain.http_shapes import Hostile, HostileError, HttpError


def middle() -> float:
    return 0.5


NOW_US = 1_445_412_480 * MICROSECONDS  # Wed, 21 Oct 2015 07:28:00 GMT


def verdict(policy: Policy, attempt: int, error: BaseException) -> Verdict:
    return decide(policy, attempt, error, middle, NOW_US)


def wrapped(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


# Backoff


def test_exponential_doubles_up_to_its_cap() -> None:
    backoff = Exponential("1s", cap="10s")
    assert [backoff_seconds(backoff, n, middle) for n in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_fixed_stays() -> None:
    assert [backoff_seconds(Fixed("7s"), n, middle) for n in (1, 2, 999)] == [7, 7, 7]


@given(st.integers(1, 10_000), st.floats(0, 1, exclude_max=True), st.floats(0.001, 1000))
def test_jitter_is_ten_percent_and_never_above_the_cap(failures: int, random: float, base: float) -> None:
    backoff = Exponential(base, cap=3600)
    exact = backoff_seconds(backoff, failures, middle)
    waited = backoff_seconds(backoff, failures, lambda: random)
    assert exact * 0.899 <= waited <= min(exact * 1.101, 3600)


def test_a_wait_that_no_number_can_hold_is_the_cap() -> None:
    assert backoff_seconds(Backoff(5.0, 1e300, 60.0), 1000, middle) == 60


# Verdicts


def test_attempts_left_or_not() -> None:
    policy = Policy(attempts=3, backoff=Fixed(4))
    assert after_failure(policy, 2, middle) == RetryAt(4)
    assert after_failure(policy, 3, middle) == GiveUp("all 3 attempts used")
    assert after_failure(Policy(attempts=1), 1, middle) == GiveUp("its only attempt was used")
    assert after_failure(policy, 1, middle, asked=99.0) == RetryAt(99.0)


@pytest.mark.parametrize(
    "error",
    [
        DoNotRetry("no"),
        PayloadError("bad"),
        HttpError(400),
        HttpError(404),
        HttpError(499),
        ExceptionGroup("tasks", [ValueError(), DoNotRetry("no")]),
        ExceptionGroup("tasks", [HttpError(404), HttpError(410)]),
    ],
    ids=str,
)
def test_errors_that_end_it_at_once(error: Exception) -> None:
    assert isinstance(verdict(Policy(), 1, error), GiveUp)


@pytest.mark.parametrize(
    "error",
    [
        ValueError(),
        HttpError(408),
        HttpError(425),
        HttpError(429),
        HttpError(500),
        HttpError(503),
        TimeoutError(),
        Retry(),
        ExceptionGroup("tasks", [HttpError(404), HttpError(503)]),
        wrapped(ValueError("the sync failed"), HttpError(404)),
        HostileError(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_that_are_tried_again(error: Exception) -> None:
    assert verdict(Policy(backoff=Fixed(4)), 1, error) == RetryAt(4)
    assert isinstance(verdict(Policy(), 3, error), GiveUp)


@pytest.mark.parametrize(
    ("error", "delay"),
    [
        (Retry(after="2m"), 120.0),
        (Retry(after=0), 0.0),
        (Retry(), None),
        (Retry(after="90"), 90.0),
        (Retry(after=timedelta(minutes=1)), 60.0),
        (Retry(after="soon"), None),
        (Retry(after="²"), None),
        (Retry(after=-1), None),
        (Retry(after=Hostile()), None),
        (HttpError(429, {"retry-after": "30"}), 30.0),
        (HttpError(429, {"retry-after": "Wed, 21 Oct 2015 07:30:00 GMT"}), 120.0),
        (HttpError(429), None),
        (ValueError(), None),
        (wrapped(ValueError(), HttpError(429, {"retry-after": "30"})), 30.0),
        (wrapped(Retry(after=5), HttpError(429, {"retry-after": "30"})), 5.0),
        (wrapped(Retry(), HttpError(429, {"retry-after": "30"})), 30.0),
        (ExceptionGroup("tasks", [HttpError(429, {"retry-after": "30"}), Retry(after=40), ValueError()]), 40.0),
        (HostileError(), None),
    ],
    ids=range(18),
)
def test_the_delay_that_an_error_asks_for(error: Exception, delay: float | None) -> None:
    assert asked_delay(error, NOW_US) == delay


def test_an_asked_delay_wins_over_the_backoff() -> None:
    assert verdict(Policy(), 1, Retry(after=1.5)) == RetryAt(1.5)
    assert isinstance(verdict(Policy(attempts=1), 1, Retry(after=1.5)), GiveUp)


# Descriptions


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def test_an_error_is_described() -> None:
    described = describe_error(raised(HttpError(503)))
    assert described.type == "tests.unit.domain.http_shapes.HttpError"
    assert (described.message, described.code, described.transient) == ("HTTP 503", "503", True)
    assert "test_retry.py" in described.stack
    assert describe_error(ValueError("x")).type == "ValueError"


def test_a_description_is_bounded() -> None:
    def deep(n: int) -> None:
        if n:
            deep(n - 1)
        raise ValueError("x" * 1_000_000)

    try:
        deep(300)
    except ValueError as error:
        described = describe_error(error)
    assert len(described.message) < MESSAGE_CHARS_MAX + 100
    assert "characters left out" in described.message
    assert len(described.stack) < STACK_CHARS_MAX + 100


def test_a_group_is_described_by_its_parts() -> None:
    try:
        raise BaseExceptionGroup("unhandled errors in a TaskGroup", [raised(HttpError(503))])
    except ExceptionGroup as group:
        described = describe_error(group)
    assert described.message == "unhandled errors in a TaskGroup (1 sub-exception); HttpError: HTTP 503"
    assert (described.type, described.code, described.transient) == ("ExceptionGroup", "503", True)
    assert "in raised" in described.stack, "where the part was raised"
    assert "in test_a_group_is_described" in described.stack, "where the group was"


def test_a_group_of_many_is_described_by_the_first() -> None:
    described = describe_error(ExceptionGroup("many", [ValueError(f"number {n}") for n in range(50)]))
    assert ("number 2" in described.message, "number 3" in described.message) == (True, False)
    assert described.code is None


def test_a_hostile_error_is_described() -> None:
    described = describe_error(HostileError())
    assert (described.transient, described.code) == (False, None)
    assert "KeyboardInterrupt" in described.message
    assert "KeyboardInterrupt" in describe_error(ExceptionGroup("x", [HostileError()])).message


def test_an_error_that_cannot_say_what_it_is() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert "RuntimeError" in describe_error(Mute()).message


def test_text_that_is_not_text_is_made_storable() -> None:
    described = describe_error(ValueError("\ud800"))
    assert described.message.encode() == b"\\ud800"
