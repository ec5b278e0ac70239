"""From what the config says to sinks that can be sent to. What an operator has written may be anywhere inside."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from penstock.domain.clock import Clock
from penstock.observe.alerts.settings import SinkSpec
from penstock.outbound.sinks import Sink
from penstock.outbound.sinks.log import LogSink
from penstock.system.clock import SystemClock

if TYPE_CHECKING:
    from penstock.outbound.door import Door

SEND_SECONDS_MAX = 5.0
"""For one try: the next round comes soon."""


@cache
def door() -> Door:
    """One for all. Not loaded where nothing goes out."""
    from penstock.outbound.door import Door

    return Door(allow_private=True)


def make_sinks(specs: Iterable[SinkSpec], clock: Clock | None = None) -> dict[str, Sink]:
    """By name."""
    return {spec.name: _sink(spec, clock or SystemClock()) for spec in specs}


def _sink(spec: SinkSpec, clock: Clock) -> Sink:
    if spec.kind == "log":
        return LogSink(spec.name)
    from penstock.outbound.sinks.slack import SlackSink
    from penstock.outbound.sinks.webhook import WebhookSink

    if spec.kind == "slack":
        return SlackSink(door(), spec.url, name=spec.name, timeout=SEND_SECONDS_MAX)
    return WebhookSink(door(), spec.url, secrets=spec.secrets, name=spec.name, timeout=SEND_SECONDS_MAX, clock=clock)
