"""What a rule is: one promise, and a function that looks for evidence against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from tests.checker.events import Event, OnceAsked, TokensAsked, to_line
from tests.checker.evidence import Evidence
from tests.checker.history import NEVER, History
from tests.checker.truth import Truth

SLACK_US = 20_000
"""By so much the store's clock and that of the history may disagree within one lease or period."""


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `count` claims in any window of `per_us` microseconds."""

    count: int
    per_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the promises are measured by in this run, and what the run itself makes impossible to judge."""

    pickup_us: int | None = None
    """How soon a job of a dead worker must be claimed again or ended: staleness, checks, polls and its backoff."""
    once: frozenset[str] = frozenset()
    """Types whose effects are committed with their completion."""
    at_least_once: frozenset[str] = frozenset()
    """Types that leave an effect whenever they complete, and maybe more often."""
    waiting: frozenset[str] = frozenset()
    """Types that nobody runs: they may still wait at the end."""
    key_limits: dict[str, int] = field(default_factory=dict)
    rates: dict[str, Rate] = field(default_factory=dict)
    ordered_keys: frozenset[str] = frozenset()
    turns: frozenset[str] = frozenset()
    """Queues of an engine with one writer whose jobs have tenants of equal weight and no limits: whose turn it is can
    be said exactly.
    """
    claims_undone: bool = False
    """The machine or the server of the store crashed: claims are not synced, and the newest may be undone."""
    clocks_jump: bool = False
    """The clocks that the store goes by were set: how long a lease or a period lasted cannot be said."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken promise, the events behind it, and the moment at which it was evident."""

    rule: str
    message: str
    events: tuple[Event, ...]
    at: int


class Case:
    """A history with its truth and bounds, as the rules look at it."""

    def __init__(self, history: History, truth: Truth, bounds: Bounds) -> None:
        self.history = history
        self.truth = truth
        self.bounds = bounds

    @cached_property
    def evidence(self) -> Evidence:
        return Evidence(self.history, self.truth)

    @cached_property
    def run_tokens(self) -> frozenset[int]:
        """The tokens whose handlers have begun."""
        return frozenset(note.token for note in self.history.notes("run"))

    def about(self, *ids: str) -> tuple[Event, ...]:
        """All events that speak of these jobs or of their tokens, with their questions and answers."""
        lives = [self.evidence.lives[id] for id in ids if id in self.evidence.lives]
        tokens = {lease.token for life in lives for lease in life.leases}
        named = [event for event in self.history.events if _names(event, ids, tokens)]
        calls = {(event.process, event.call) for event in named if event.call is not None}
        chosen = {id(event) for event in named}
        return tuple(
            event for event in self.history.events if id(event) in chosen or (event.process, event.call) in calls
        )


def _names(event: Event, ids: Sequence[str], tokens: set[int]) -> bool:
    if isinstance(event, TokensAsked):
        return not tokens.isdisjoint(event.tokens)
    if isinstance(event, OnceAsked):
        return event.token in tokens
    line = to_line(event).decode()
    return any(f'"{id}"' in line for id in ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """What a rule has found: the events that show it, or the jobs whose events do.

    `at` is when it was evident: with the last of the events unless told otherwise, and NEVER if the truth shows it.
    """

    message: str = field(kw_only=False)
    events: Iterable[Event] = field(default=(), kw_only=False)
    jobs: tuple[str, ...] = ()
    at: int | None = None

    @property
    def evident_at(self) -> int:
        return self.at if self.at is not None else max((event.at for event in self.events), default=NEVER)


Find = Callable[[Case], Iterator[Broken]]


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    promise: str
    find: Find

    def first(self, case: Case) -> Violation | None:
        """The first violation of this rule."""
        broken = min(self.find(case), key=lambda one: one.evident_at, default=None)
        if broken is None:
            return None
        named = case.about(*broken.jobs) if broken.jobs else ()
        return Violation(self.name, broken.message, (*broken.events, *named), broken.evident_at)


REGISTERED: dict[str, Rule] = {}


def rule(promise: str) -> Callable[[Find], Rule]:
    """Registers a function as a rule, under its own name in words."""

    def register(find: Find) -> Rule:
        name = getattr(find, "__name__", "").replace("_", " ")
        REGISTERED[name] = Rule(name, promise, find)
        return REGISTERED[name]

    return register
