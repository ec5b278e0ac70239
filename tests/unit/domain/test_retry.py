"""What follows a failed attempt."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.domain.errors import DoNotRetry, PayloadError, Retry
from penstock.domain.options import Backoff, Exponential, Fixed, Policy
from penstock.domain.retry import (
    MESSAGE_CHARS_MAX,
    STACK_CHARS_MAX,
    GiveUp,
    RetryAt,
    after_failure,
    asked_delay,
    backoff_seconds,
    decide,
    describe_error,
    http_status,
    is_transient,
)


def middle() -> float:
    return 0.5


class Response:
    def __init__(self, status_code: int, headers: dict[str, str] | None = None) -> None:
        self.status_code = status_code
        self.headers = headers or {}


class HttpError(Exception):
    """As HTTP clients raise it: the response is an attribute."""

    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"HTTP {status}")
        self.response = Response(status, headers)


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
    [DoNotRetry("no"), PayloadError("bad"), HttpError(400), HttpError(404), HttpError(499)],
)
def test_errors_that_end_it_at_once(error: Exception) -> None:
    assert isinstance(decide(Policy(), 1, error, middle), GiveUp)


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
    ],
)
def test_errors_that_are_tried_again(error: Exception) -> None:
    assert decide(Policy(backoff=Fixed(4)), 1, error, middle) == RetryAt(4)
    assert isinstance(decide(Policy(), 3, error, middle), GiveUp)


@pytest.mark.parametrize(
    ("error", "delay"),
    [
        (Retry(after="2m"), 120.0),
        (Retry(after=0), 0.0),
        (Retry(), None),
        (Retry(after="soon"), None),
        (HttpError(429, {"retry-after": "30"}), 30.0),
        (HttpError(429, {"Retry-After": " 30 "}), 30.0),
        (HttpError(429, {"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}), None),
        (HttpError(429), None),
        (ValueError(), None),
    ],
)
def test_the_delay_that_an_error_asks_for(error: Exception, delay: float | None) -> None:
    assert asked_delay(error) == delay


def test_an_asked_delay_wins_over_the_backoff() -> None:
    assert decide(Policy(), 1, Retry(after=1.5), middle) == RetryAt(1.5)
    assert isinstance(decide(Policy(attempts=1), 1, Retry(after=1.5), middle), GiveUp)


class Odd(Exception):
    """An exception whose attributes are nobody's friend."""

    @property
    def status_code(self) -> int:
        raise RuntimeError("no")

    @property
    def response(self) -> Any:
        raise RuntimeError("no")

    headers = 5


@pytest.mark.parametrize(
    ("error", "status"), [(HttpError(503), 503), (ValueError(), None), (Odd(), None), (SystemExit(1), None)]
)
def test_the_status_of_an_error(error: BaseException, status: int | None) -> None:
    assert http_status(error) == status


def test_codes_that_are_no_status() -> None:
    error = ValueError()
    for code in (True, 7, 600, "404"):
        error.code = code  # type: ignore[attr-defined]
        assert http_status(error) is None


def test_odd_headers_ask_for_nothing() -> None:
    assert asked_delay(Odd()) is None


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (ConnectionResetError(), True), (TimeoutError(), True), (HttpError(429), True), (HttpError(502), True),
        (HttpError(404), False), (ValueError(), False),
    ],
)  # fmt: skip
def test_what_passes_by_itself(error: Exception, transient: bool) -> None:
    assert is_transient(error) is transient


# Descriptions


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def test_an_error_is_described() -> None:
    described = describe_error(raised(HttpError(503)))
    assert described.type == f"{__name__}.HttpError"
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


def test_an_error_that_cannot_say_what_it_is() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    assert "RuntimeError" in describe_error(Mute()).message


def test_text_that_is_not_text_is_made_storable() -> None:
    described = describe_error(ValueError("\ud800"))
    assert described.message.encode() == b"\\ud800"
