"""Which two features one job of the model had, and how often: a pair that never came together was never looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import chain, combinations

Pair = tuple[str, str]

OPTIONS = ("delay", "priority", "ttl", "unique")
HELD = ("backed off", "begun", "elsewhere", "given back", "recovered", "released", "snoozed")
"""What only happens to a job that a worker has held."""
ENDS = ("cancelled", "expired", "no worker")
FEATURES = (*OPTIONS, *HELD, *ENDS, "aged", "paused", "requeued")
NEVER = frozenset(
    map(
        frozenset,
        chain(
            combinations(ENDS, 2),  # It ends in one way.
            (("expired", one) for one in HELD),  # Nobody has held it.
            [("requeued", "cancelled")],  # Only what failed or has expired is retried.
        ),
    )
)
PAIRS: tuple[Pair, ...] = tuple(
    (one, other) for one, other in combinations(sorted(FEATURES), 2) if frozenset((one, other)) not in NEVER
)


def count_pairs(jobs: Iterable[set[str]]) -> Counter[Pair]:
    return Counter(pair for features in jobs for pair in combinations(sorted(features), 2))


def table(counted: Counter[Pair]) -> str:
    """One line for each feature: how often it came together with each of the others; a dot where it cannot."""
    names = sorted(FEATURES)
    lines = [f"{'':12}" + "".join(f"{name[:10]:>11}" for name in names)]
    for one in names:
        cells = (
            f"{counted[min(one, other), max(one, other)]:>11}"
            if (min(one, other), max(one, other)) in PAIRS
            else f"{'.':>11}"
            for other in names
        )
        lines.append(f"{one:12}" + "".join(cells))
    return "\n".join(lines)
