"""What the errors of HTTP clients carry: real ones of the standard library, and stand-ins with the shape of others."""

from __future__ import annotations

import email.message
import io
import urllib.error
from email.utils import formatdate
from http import HTTPStatus
from typing import Any

import pytest
from hypothesis import given, strategies as st

from penstock.domain.clock import MICROSECONDS
from penstock.domain.failure.http_errors import RETRY_AFTER_SECONDS_MAX, http_status, retry_after
from tests.unit.domain.http_shapes import FlatHttpError, Hostile, HostileError, HttpError

NOW = 1_445_412_480  # Wed, 21 Oct 2015 07:28:00 GMT


def asked(error: object) -> float | None:
    return retry_after(error, NOW * MICROSECONDS)


def urllib_error(status: int, **headers: str) -> urllib.error.HTTPError:
    message = email.message.Message()
    for name, value in headers.items():
        message[name.replace("_", "-")] = value
    return urllib.error.HTTPError("http://x", status, "no", message, io.BytesIO())


# Status


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (HttpError(503), 503), (FlatHttpError(404), 404), (HttpError(HTTPStatus.TOO_MANY_REQUESTS), 429),
        (ValueError(), None), (SystemExit(1), None), (HostileError(), None), (None, None), (5, None),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_the_status_of_an_error(error: object, status: int | None) -> None:
    assert http_status(error) == status


def test_the_status_of_a_real_error() -> None:
    with urllib_error(502) as error:
        assert http_status(error) == 502


@pytest.mark.parametrize(
    "code", [True, 7, 600, "404", 404.0, None, Hostile(), lambda: 404, [404]], ids=lambda value: type(value).__name__
)
def test_codes_that_are_no_status(code: Any) -> None:
    error = ValueError()
    error.code = code  # type: ignore[attr-defined]
    assert http_status(error) is None


class OddNumber(int):
    def __le__(self, other: object) -> bool:
        raise RuntimeError("no order")

    __ge__ = __le__


def test_a_number_that_cannot_be_compared_is_no_status() -> None:
    assert http_status(FlatHttpError(OddNumber(404))) is None


# Retry-After


@pytest.mark.parametrize(
    ("header", "delay"),
    [
        ("30", 30.0),
        (" 30 ", 30.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("86400", 86400.0),
        ("99999999", RETRY_AFTER_SECONDS_MAX),
        ("Wed, 21 Oct 2015 07:30:00 GMT", 120.0),
        ("Wednesday, 21-Oct-15 07:30:00 GMT", 120.0),
        ("Wed Oct 21 07:30:00 2015", 120.0),
        ("Wed, 21 Oct 2015 09:30:00 +0200", 120.0),
        ("Wed, 21 Oct 2015 07:30:00", 120.0),
        ("Wed, 21 Oct 2099 07:30:00 GMT", RETRY_AFTER_SECONDS_MAX),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2015 07:00:00 GMT", None),
        ("soon", None),
        ("", None),
        ("-5", None),
        ("1e3", None),
        ("5m", None),
        ("²", None),
        ("inf", None),
        ("9" * 400, None),
        ("Wed, 99 Foo 2015 77:88:99 GMT", None),
    ],
)
def test_seconds_and_dates(header: str, delay: float | None) -> None:
    assert asked(HttpError(429, {"retry-after": header})) == delay
    assert asked(FlatHttpError(503, {"Retry-After": header})) == delay


@pytest.mark.parametrize("name", ["retry-after", "Retry-After", "RETRY-AFTER"])
def test_the_spelling_of_the_header(name: str) -> None:
    assert asked(HttpError(429, {name: "7"})) == 7.0
    assert asked(HttpError(429, {name: b"7"})) == 7.0


def test_a_real_error_in_any_spelling() -> None:
    with urllib_error(503, rEtRy_AfTeR="7") as error:
        assert asked(error) == 7.0


def test_a_date_is_measured_from_the_date_of_the_answer() -> None:
    """The server is an hour ahead of this machine, and wants to be left alone for two minutes."""
    answered, until = (formatdate(NOW + seconds, usegmt=True) for seconds in (3600, 3720))
    assert asked(HttpError(503, {"retry-after": until, "date": answered})) == 120.0
    assert asked(HttpError(503, {"retry-after": answered, "date": until})) is None
    assert asked(HttpError(503, {"retry-after": until, "date": "nonsense"})) == 3720.0
    assert asked(HttpError(503, {"retry-after": "60", "date": answered})) == 60.0


@pytest.mark.parametrize(
    "headers", [None, 5, [], {}, {"retry-after": 30}, {"retry-after": None}, Hostile()], ids=range(7)
)
def test_headers_that_ask_for_nothing(headers: Any) -> None:
    assert asked(FlatHttpError(429, headers)) is None
    assert asked(HostileError()) is None


@given(st.text())
def test_whatever_the_header_says_the_wait_is_possible(text: str) -> None:
    wait = asked(HttpError(429, {"retry-after": text}))
    assert wait is None or 0 <= wait <= RETRY_AFTER_SECONDS_MAX
