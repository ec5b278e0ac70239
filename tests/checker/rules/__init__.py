"""The rules, one promise each. A new one is a function with @rule in a module that is named here."""

from __future__ import annotations

from tests.checker.rules import (
    attempts,
    effects,
    endings,
    keeping,
    leaders,
    limits,
    ordered,
    origins,
    paused,
    pickup,
    schedules,
    tokens,
    turns,
    unique,
    workflows,
)
from tests.checker.rules.rule import REGISTERED, Bounds, Case, Rate, Rule, Violation

ALL: tuple[Rule, ...] = tuple(REGISTERED.values())

__all__ = [
    "ALL", "Bounds", "Case", "Rate", "Rule", "Violation", "attempts", "effects", "endings", "keeping", "leaders",
    "limits", "ordered", "origins", "paused", "pickup", "schedules", "tokens", "turns", "unique", "workflows",
]  # fmt: skip
