"""Holds a history against the promises and finds the first that is broken."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.checker.events import Event
from tests.checker.history import History
from tests.checker.report import report
from tests.checker.rules import ALL, Bounds, Case, Rule, Violation
from tests.checker.truth import Truth


class PromiseBroken(AssertionError):
    """The message is the whole report."""

    def __init__(self, violation: Violation, text: str) -> None:
        super().__init__(text)
        self.violation = violation


def violations(case: Case, rules: Sequence[Rule] = ALL) -> list[Violation]:
    """The first violation of each rule that is broken, the earliest first."""
    found = [violation for rule in rules if (violation := rule.first(case)) is not None]
    return sorted(found, key=lambda violation: violation.at)


def check(
    events: Iterable[Event], truth: Truth, rules: Sequence[Rule] = ALL, bounds: Bounds | None = None
) -> Violation | None:
    """The first violation, or None if every promise was kept."""
    found = violations(Case(History(events), truth, bounds or Bounds()), rules)
    return found[0] if found else None


def must_hold(
    events: Iterable[Event],
    truth: Truth,
    *,
    bounds: Bounds | None = None,
    rules: Sequence[Rule] = ALL,
    seed: object = None,
    replay: str | None = None,
) -> None:
    """Raise PromiseBroken, with a report that names the seed and the command that replays the run."""
    case = Case(History(events), truth, bounds or Bounds())
    found = violations(case, rules)
    if found:
        raise PromiseBroken(found[0], report(case, found, seed, replay))
