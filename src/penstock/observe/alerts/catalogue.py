"""The rules by name: how severe each is, and what it takes as long as nobody says otherwise (O3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from penstock.domain.errors import ConfigError
from penstock.domain.texts import brief
from penstock.store.contract import Severity

Unit = Literal["number", "duration", "size"]

STORE = "store"
"""The scope of what is wrong with the store as a whole."""
OTHERS = "(others)"
"""The scope of all those beyond the ones that are told each by itself."""
NO_LEADER = "no_leader"
HELD_BACK = "alerts_held_back"


class RuleSpec(NamedTuple):
    """`threshold` is what must be exceeded, in seconds or bytes where it is a duration or a size; None: it has none.
    `hold` is for how long that must be so.
    """

    severity: Severity
    help: str
    threshold: float | None = None
    unit: Unit | None = None
    hold: float = 0.0


RULES: dict[str, RuleSpec] = {
    "high_timeout_rate": RuleSpec("warning", "more attempts than this time out in a minute", 10, "number", 60.0),
    "no_active_workers": RuleSpec("critical", "no worker is active", hold=60.0),
    "dead_letter_buildup": RuleSpec("warning", "more dead letters than this are kept", 100, "number"),
    "stale_jobs": RuleSpec("warning", "a job was claimed this long ago and has not begun", 300.0, "duration"),
    "final_failure": RuleSpec("warning", "a job has failed for good"),
    "critical_dead_letter": RuleSpec("high", "a job of a critical type has failed for good"),
    "missed_schedule": RuleSpec("warning", "a schedule is overdue for this long, or was missed", 60.0, "duration"),
    "unroutable_jobs": RuleSpec("warning", "jobs wait that no live worker can run", hold=60.0),
    "overlong_run": RuleSpec("warning", "a job has run for this long, or past its own timeout", 86400.0, "duration"),
    NO_LEADER: RuleSpec("critical", "nobody has led for this long, so nothing is watched", 60.0, "duration"),
    "store_filling": RuleSpec("high", "less room than this is left for the store", 512 * 2.0**20, "size", 60.0),
    "figures_behind": RuleSpec("warning", "figures are this old, so other rules are blind", 600.0, "duration", 60.0),
    HELD_BACK: RuleSpec("warning", "more alerts than alerts.cap_per_hour, so that some were not told"),
}  # fmt: skip
WHOLE = (STORE,)
SCOPES: dict[str, tuple[str, ...]] = {
    "high_timeout_rate": WHOLE, "no_active_workers": WHOLE, "dead_letter_buildup": WHOLE, "stale_jobs": WHOLE,
    NO_LEADER: WHOLE, "store_filling": WHOLE, "figures_behind": ("sample", "pages"), HELD_BACK: WHOLE,
}  # fmt: skip
"""All that such a rule has. Those of others are named by what people have, such as their job types."""
TESTED = "test"
"""As what a message goes out that only tries whether it arrives."""


def check_rule(name: str, known: Iterable[str] = RULES) -> str:
    """The name of a rule, or an error that says which there are."""
    from difflib import get_close_matches

    known = list(known)
    if name in known:
        return name
    near = get_close_matches(name, known, n=1)
    fix = f"did you mean {near[0]}?" if near else f"the rules are: {', '.join(known)}"
    raise ConfigError(f"{brief(name)} is not a rule of alerts; {fix}")


def check_scope(rule: str, scope: str | None) -> str | None:
    """One that the rule may have, or an error that says which those are; None is all of them."""
    scopes = SCOPES.get(rule)
    if scope is None or scopes is None or scope in scopes:
        return scope
    raise ConfigError(f"{rule} never has the scope {brief(scope)}; it has: {', '.join(scopes)}; or leave out --scope")
