"""What the config says of alerts: which rules, whom to tell, how often."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from penstock.observe.alerts.catalogue import RULES

SinkKind = Literal["log", "webhook", "slack"]


@dataclass(frozen=True, slots=True)
class RuleSettings:
    """What one rule takes: see RuleSpec."""

    on: bool = True
    threshold: float = 0.0
    hold: float = 0.0


@dataclass(frozen=True, slots=True)
class SinkSpec:
    """Somebody who is told. `url` and `secrets` are never shown."""

    kind: SinkKind
    name: str
    url: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSettings:
    interval: float = 15.0
    """How often the rules are looked at."""
    sinks: tuple[SinkSpec, ...] = (SinkSpec("log", "log"),)
    heartbeat_url: str | None = field(default=None, repr=False)
    """Sent a request each time that the rules were looked at: whoever waits for it notices total silence."""
    cap_per_hour: int | None = 20
    """No more alerts than this are told in an hour, but for critical ones; None tells all."""
    critical_types: tuple[str, ...] = ("data-deletion", "webhook-dispatch", "audit-export")
    rules: Mapping[str, RuleSettings] = field(default_factory=dict)
    """Those that were set; see rule()."""

    def rule(self, name: str) -> RuleSettings:
        return self.rules.get(name) or default_rule(name)


def default_rule(name: str) -> RuleSettings:
    spec = RULES[name]
    return RuleSettings(threshold=spec.threshold or 0.0, hold=spec.hold)
