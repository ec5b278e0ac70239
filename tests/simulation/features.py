"""Features in pairs: each seed has a few, and many of its jobs have two of them or more at once.

Which two a seed has for sure follows from its number, so that as many seeds as there are pairs have all of them; the
others are drawn. What then really came together is counted in paired.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from itertools import chain, combinations
from random import Random
from typing import Any

from penstock import Resources, Tenant, Unique
from tests.simulation.names import API, NOWHERE, ORDERED, SHOPS, SPECIAL, TENANTS, UNIQUE_KEYS, Item, limited
from tests.simulation.weather import Weather

Options = dict[str, Any]
Pair = tuple[str, str]
Theme = frozenset[str]
"""The features of a seed."""

SHARE = 0.35
"""So many of the jobs of a seed are of its theme."""
MORE = 3
AGEING_SECONDS = 0.1

ADDED: dict[str, Callable[[Random], Options]] = {
    "unique": lambda random: {"unique": Unique(f"key-{random.randrange(UNIQUE_KEYS)}")},
    "limit": lambda random: {"limit": limited(random.choice(sorted(SHOPS.keys() - ORDERED)))},
    "ordered": lambda random: {"limit": limited(random.choice(sorted(ORDERED)))},
    "rate": lambda random: {"rate_limit": API},
    "ttl": lambda random: {"ttl": random.choice([random.uniform(0.05, 0.5), random.uniform(0.5, 4.0)])},
    "tenant": lambda random: {"tenant": Tenant(random.choice(TENANTS))},
    "delay": lambda random: {"delay": random.uniform(0.05, 1.0)},
    "priority": lambda random: {"priority": random.choice([-10, 5, 10])},
    "resources": lambda random: {"resources": Resources(cpu=random.choice([1, 2, 3]))},
    "capability": lambda random: {"capability": SPECIAL},
    "removed": lambda random: {"remove_on_complete": True},
}
"""Options of a job."""
KINDS = {"once": "charge", "batch": "pack", "no worker": "rare"}
"""Job types that are features."""
SOURCES = ("bulk", "workflow", "follow-up", "schedule")
"""Where a job comes from."""
FATES = ("retry", "cancel", "requeued", "pause", "aged", "recovered", "given back")
"""What becomes of a job: some of it is drawn with it, the rest is what others do, and how the weather is."""
DRAWN = (*ADDED, *KINDS, *SOURCES, *FATES)
FEATURES = (*DRAWN, "expired")
"""That a job has expired follows from its time-to-live."""


def _each(one: str, *others: str) -> Iterable[frozenset[str]]:
    return (frozenset((one, other)) for other in others)


NEVER: frozenset[frozenset[str]] = frozenset(
    chain(
        _each("limit", "ordered"),  # A job has one key.
        _each("unique", "workflow"),  # Refused: it would never run if another job held the key.
        _each("delay", "schedule"),  # The tick says when.
        map(frozenset, combinations(SOURCES, 2)),
        map(frozenset, combinations(KINDS, 2)),
        map(frozenset, combinations(("no worker", "expired", "cancel", "removed"), 2)),  # It ends in one way.
        _each("no worker", "capability", "retry", "recovered", "given back"),  # It never runs.
        _each("expired", "retry", "recovered", "given back"),  # Nor has this one.
        _each("requeued", "cancel", "removed"),  # Only what failed or has expired is retried.
    )
)
"""Pairs that cannot be."""
PAIRS: tuple[Pair, ...] = tuple(
    (one, other) for one, other in combinations(sorted(FEATURES), 2) if frozenset((one, other)) not in NEVER
)
_SURE = tuple(pair for pair in PAIRS if "expired" not in pair)
_STEP = 89
"""Seeds that follow each other have nothing in common. No divisor of any number of pairs that there may be."""


def draw_theme(seed: int) -> Theme:
    return frozenset((*_SURE[seed * _STEP % len(_SURE)], *Random(f"{seed} theme").sample(DRAWN, MORE)))


def bring_about(theme: Theme, weather: Weather) -> Weather:
    """Make sure that what the weather must bring can happen."""
    if "recovered" in theme:
        weather = replace(weather, kill_seconds=min(weather.kill_seconds or 2.0, 2.0))
    if "given back" in theme:
        weather = replace(weather, claims_unheard=0.25)
    return weather


# Jobs of a theme


def draw_features(random: Random, theme: Collection[str]) -> list[str]:
    """Two of the theme or more, that can be together."""
    some = random.sample(sorted(theme), random.randint(min(2, len(theme)), len(theme)))
    chosen: list[str] = []
    for one in some:
        if not any(frozenset((one, other)) in NEVER for other in chosen):
            chosen.append(one)
    return chosen


def make_item(random: Random, features: Collection[str]) -> Item:
    """A short job with these. Where it comes from is its maker's affair."""
    kind = next((KINDS[one] for one in KINDS if one in features), "work")
    options: Options = {}
    for name in sorted(features):
        options |= ADDED[name](random) if name in ADDED else {}
    if kind == "rare":
        options |= {"capability": NOWHERE}
    fails = 0
    if "requeued" in features:
        fails, options["attempts"] = 99, 2 if "retry" in features else 1
    elif "retry" in features:
        fails = 1
    if kind == "pack":
        return Item(kind, {"item": 3 if fails else 0}, options)
    return Item(kind, {"seconds": random.uniform(0.005, 0.1), "fails": fails}, options)
