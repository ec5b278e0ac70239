"""Sending an alert more than once: what may pass by itself is tried again, a few times, ever more rarely.

Not as a job: what is told may be that no worker is there to run one.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from penstock.domain.clock import Clock
from penstock.domain.errors import OutboundError
from penstock.domain.failure.http_errors import retry_after
from penstock.domain.failure.retry import backoff_seconds
from penstock.domain.failure.transient import is_transient
from penstock.domain.options import Backoff
from penstock.outbound.message import AlertMessage
from penstock.outbound.sinks import Sink


class Patience(msgspec.Struct, frozen=True):
    """How often it is tried in all, how long it waits between, and how much of what a receiver asks for it grants."""

    tries: int = 4
    backoff: Backoff = Backoff(1.0, 2.0, 30.0)
    asked_seconds_max: float = 60.0


PATIENCE = Patience()


def send_patiently(
    sink: Sink,
    message: AlertMessage,
    *,
    pause: Callable[[float], object],
    clock: Clock,
    random: Callable[[], float],
    patience: Patience = PATIENCE,
) -> None:
    """Raises what the last try raised. `pause` waits so many seconds, such as the `wait` of an Event that is set when
    the program stops: if it answers True, nothing is tried any more.
    """
    failures = 0
    while (failed := _failure(sink, message)) is not None:
        failures += 1
        if failures >= patience.tries or not is_transient(failed):
            raise failed
        if pause(_wait_seconds(failed, failures, patience, clock, random)):
            raise failed


def _failure(sink: Sink, message: AlertMessage) -> OutboundError | None:
    try:
        sink.send(message)
    except OutboundError as error:
        return error
    return None


def _wait_seconds(
    failed: OutboundError, failures: int, patience: Patience, clock: Clock, random: Callable[[], float]
) -> float:
    """Whoever asks for patience gets it, up to a bound; less than the backoff it never is."""
    asked = min(retry_after(failed, clock.now_us()) or 0.0, patience.asked_seconds_max)
    return max(asked, backoff_seconds(patience.backoff, failures, random))
