"""An exception that a signal's handler raised comes out as it is; one of the interrupted code does not."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from penstock.domain.errors import PayloadError
from penstock.domain.payload import encode_json
from penstock.domain.signature import signature_of


class Alarm(Exception):
    pass


class LateValue(ValueError):
    pass


@pytest.fixture(params=[Alarm, LateValue, TimeoutError, TypeError])
def kind(request: pytest.FixtureRequest) -> type[Exception]:
    return request.param  # type: ignore[no-any-return]


def plain(kind: type[Exception]) -> Callable[[int, object], None]:
    def handle(number: int, frame: object) -> None:
        raise kind("alarm")

    return handle


def of_any_arguments(kind: type[Exception]) -> Callable[..., None]:
    def raises() -> None:
        raise kind("alarm")

    def handle(*_: object) -> None:
        raises()

    return handle


def once(kind: type[Exception]) -> Callable[[int, object], None]:
    def handle(number: int, frame: object) -> None:
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        raise kind("alarm")

    return handle


@pytest.fixture(params=[plain, of_any_arguments, once])
def alarmed(request: pytest.FixtureRequest, kind: type[Exception]) -> Iterator[None]:
    before = signal.signal(signal.SIGUSR1, request.param(kind))
    yield
    signal.signal(signal.SIGUSR1, before)


@dataclass
class Slow:
    """A type whose own code runs while it is read, and is interrupted."""

    number: int

    def __post_init__(self) -> None:
        if self.number == 1:
            signal.raise_signal(signal.SIGUSR1)
        if self.number == 2:
            raise LookupError("not this one")


class Model:
    def model_dump(self, **_: Any) -> object:
        signal.raise_signal(signal.SIGUSR1)
        return {}


def handler(slow: Slow) -> None: ...


@pytest.mark.usefixtures("alarmed")
def test_in_the_code_of_a_type_that_is_read(kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"^alarm$") as raised:
        signature_of(handler, False).decode('{"slow": {"number": 1}}')
    assert type(raised.value) is kind


@pytest.mark.usefixtures("alarmed")
def test_in_the_code_of_a_type_that_is_written(kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"^alarm$") as raised:
        encode_json(Model(), "it")
    assert type(raised.value) is kind


@pytest.mark.usefixtures("alarmed")
def test_what_the_types_own_code_raises_is_still_told_of_the_payload(kind: type[Exception]) -> None:
    signature = signature_of(handler, False)
    for _ in range(2):
        with pytest.raises(PayloadError, match="not this one"):
            signature.decode('{"slow": {"number": 2}}')
    try:
        signal.raise_signal(signal.SIGUSR1)
    except kind:
        with pytest.raises(PayloadError, match="not this one"):
            signature.decode('{"slow": {"number": 2}}')
        with pytest.raises(PayloadError, match="lone surrogate"):
            encode_json("\ud800", "it")
        with pytest.raises(PayloadError):
            encode_json(object(), "it")
