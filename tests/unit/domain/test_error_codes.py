"""The code of an error: the first that it has, as it is defined, and nothing that somebody else's code makes of it."""

from __future__ import annotations

import enum
from typing import Any

import pytest

from penstock.domain.failure.error_codes import error_code
from penstock.domain.failure.retry import GiveUp, decide, describe_error
from penstock.domain.options import Policy


class Word(str, enum.Enum):
    DECLINED = "card_declined"


class Number(enum.IntEnum):
    TIMED_OUT = 408


def with_(**attributes: Any) -> Exception:
    error = ValueError("x")
    for name, value in attributes.items():
        setattr(error, name, value)
    return error


class Raising(Exception):
    @property
    def code(self) -> str:
        raise KeyboardInterrupt

    errno = 7


class Lying(str):
    def __str__(self) -> str:
        raise SystemExit

    def __len__(self) -> int:
        raise SystemExit


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (with_(code="E42"), "E42"),
        (with_(code=42), "42"),
        (with_(code=0), "0"),
        (with_(code=Word.DECLINED), "card_declined"),
        (with_(code=Number.TIMED_OUT), "408"),
        (ConnectionRefusedError(111, "refused"), "111"),
        (with_(sqlstate="23505"), "23505"),
        (with_(pgcode="23505"), "23505"),
        (with_(status_code=503), "503"),
        (with_(code="card_declined", status_code=402), "card_declined"),
        (with_(code=None, errno=5, sqlstate="23505"), "5"),
        (with_(code="", errno=5), "5"),
        (with_(code=lambda: 5), None),
        (with_(code=True), None),
        (with_(code=10**5000), None),
        (with_(code="x" * 1000, sqlstate="23505"), "23505"),
        (with_(code="\x1b[2J"), None),
        (with_(code="\ud800"), None),
        (with_(code=Lying("x")), "x"),
        (with_(code=["E42"]), None),
        (Raising(), "7"),
        (SystemExit(3), None),
        (SystemExit("all is said"), None),
        (OSError("no number"), None),
        (ValueError("x"), None),
    ],
)
def test_the_code_of_an_error(error: BaseException, code: str | None) -> None:
    assert error_code(error) == code
    assert describe_error(error).code == code


def test_a_secret_in_a_code_is_hidden() -> None:
    assert describe_error(with_(code="password=hunter2")).code == "password=***"


def test_an_exit_is_no_answer_of_a_server() -> None:
    assert not isinstance(decide(Policy(), 1, SystemExit(404), lambda: 0.5, 0), GiveUp)
