"""From what the config says to sinks that can be sent to. What an operator has written may be anywhere inside."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.domain.clock import Clock
from penstock.observe.alerts.settings import SinkSpec
from penstock.outbound.door import Door
from penstock.outbound.sinks import Sink
from penstock.outbound.sinks.log import LogSink
from penstock.outbound.sinks.slack import SlackSink
from penstock.outbound.sinks.webhook import WebhookSink
from penstock.system.clock import SystemClock

SEND_SECONDS_MAX = 5.0
"""For one try: the next round comes soon."""


def make_door(clock: Clock | None = None) -> Door:
    return Door(allow_private=True, clock=clock or SystemClock())


def make_sinks(specs: Iterable[SinkSpec], clock: Clock | None = None) -> dict[str, Sink]:
    """By name. A door is made only if something is to go out by it."""
    specs, clock = list(specs), clock or SystemClock()
    outside = [spec for spec in specs if spec.kind != "log"]
    door = make_door(clock) if outside else None
    return {spec.name: LogSink(spec.name) if door is None else _sink(spec, door, clock) for spec in specs}


def _sink(spec: SinkSpec, door: Door, clock: Clock) -> Sink:
    match spec.kind:
        case "webhook":
            return WebhookSink(
                door, spec.url, secrets=spec.secrets, name=spec.name, timeout=SEND_SECONDS_MAX, clock=clock
            )
        case "slack":
            return SlackSink(door, spec.url, name=spec.name, timeout=SEND_SECONDS_MAX)
        case "log":
            return LogSink(spec.name)
