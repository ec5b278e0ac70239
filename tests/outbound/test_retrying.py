"""What is tried again, how often, and after how long."""

from __future__ import annotations

import pytest

from penstock.domain.errors import OutboundError, OutboundFailed, OutboundRefused
from penstock.domain.options import Backoff
from penstock.outbound.door import Door
from penstock.outbound.message import AlertMessage
from penstock.outbound.retrying import Patience, send_patiently
from penstock.outbound.sinks.webhook import WebhookSink
from tests.outbound.alerts import an_alert
from tests.outbound.receiver import answer, receiver, sent_headers

NOW_US = 1_700_000_000_000_000


class Clock:
    def now_us(self) -> int:
        return NOW_US

    def monotonic(self) -> float:
        return 0.0


class Fails:
    """A sink that raises one error after the other, and takes the alert after those."""

    name = "fails"

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.tries = 0

    def send(self, message: AlertMessage) -> None:
        self.tries += 1
        if self._errors:
            raise self._errors.pop(0)


def status(code: int, **headers: str) -> OutboundFailed:
    return OutboundFailed(f"answered {code}", code, {name.replace("_", "-"): value for name, value in headers.items()})


def network() -> OutboundFailed:
    error = OutboundFailed("it could not be connected to")
    error.__cause__ = ConnectionRefusedError()
    return error


def send(sink: Fails, patience: Patience | None = None, *, random: float = 0.5) -> list[float]:
    """How long was waited each time."""
    waits: list[float] = []
    send_patiently(
        sink, an_alert(), pause=waits.append, clock=Clock(), random=lambda: random, patience=patience or Patience()
    )
    return waits


@pytest.mark.parametrize("code", [408, 425, 429, 500, 502, 503, 504, 599])
def test_what_may_pass_is_tried_again(code: int) -> None:
    sink = Fails(status(code), network(), status(code))
    assert send(sink) == [1.0, 2.0, 4.0]
    assert sink.tries == 4


@pytest.mark.parametrize(
    "error",
    [*map(status, (301, 302, 400, 401, 403, 404, 410, 422)), OutboundRefused("a private address"),
     OutboundFailed("its certificate is not accepted")],
    ids=str,
)  # fmt: skip
def test_what_stays_is_not(error: OutboundError) -> None:
    sink = Fails(error)
    with pytest.raises(type(error)) as caught:
        send(sink)
    assert caught.value is error
    assert sink.tries == 1


def test_the_last_failure_is_told_when_all_tries_are_used() -> None:
    last = status(503)
    sink = Fails(network(), network(), last)
    with pytest.raises(OutboundFailed) as caught:
        send(sink, Patience(tries=3))
    assert (caught.value is last, sink.tries) == (True, 3)


def test_an_error_that_is_none_of_the_doors_is_not_tried_again() -> None:
    sink = Fails(ValueError("a mistake"))
    with pytest.raises(ValueError, match="a mistake"):
        send(sink)
    assert sink.tries == 1


@pytest.mark.parametrize(
    ("asked", "waited"),
    [("7", 7.0), ("0", 1.0), ("99999", 60.0), ("soon", 1.0), ("Tue, 14 Nov 2023 22:13:30 GMT", 10.0),
     ("Tue, 14 Nov 2023 22:13:00 GMT", 1.0), ("-5", 1.0)],
)  # fmt: skip
def test_a_receiver_may_ask_for_more_patience_up_to_a_bound(asked: str, waited: float) -> None:
    assert send(Fails(status(429, retry_after=asked))) == [waited]


def test_waits_grow_up_to_a_bound_and_are_spread() -> None:
    patience = Patience(tries=5, backoff=Backoff(1.0, 10.0, 50.0))
    assert send(Fails(*[network() for _ in range(4)]), patience) == [1.0, 10.0, 50.0, 50.0]
    assert send(Fails(network()), random=0.0) == [pytest.approx(0.9)]


def test_whoever_stops_is_not_kept() -> None:
    sink = Fails(network(), network())
    with pytest.raises(OutboundFailed):
        send_patiently(sink, an_alert(), pause=lambda _: True, clock=Clock(), random=lambda: 0.5)
    assert sink.tries == 1


def test_through_the_door_until_the_receiver_has_it() -> None:
    waits: list[float] = []
    with receiver(answer(429, Retry_After="3"), answer(500), b"", answer(200)) as server:
        sink = WebhookSink(Door(allow_private=True), server.url)
        send_patiently(sink, an_alert(), pause=waits.append, clock=Clock(), random=lambda: 0.5)
    assert waits == [3.0, 2.0, 4.0]
    assert {sent_headers(one)["webhook-id"] for one in server.requests} == {"no_active_workers:all:17-firing"}
    assert len(server.requests) == 4
