"""Which pairs a short run takes: other ones with each commit, and always those that were a defect."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.long import commits
from tests.nets.many import PAIRS
from tests.nets.power import ALL

ALWAYS = [
    # A row that was moved while it was chosen was ended and stayed: no claim got past it.
    ("expire", "age"),
    ("age", "expire"),
    # A start waited for the transaction that ended it, and was given back as never begun.
    ("complete in a transaction", "start"),
    ("give back", "start"),
    # So did the progress of all jobs of a worker for the transaction that ended one of them.
    ("complete in a transaction", "progress"),
    # A worker that was marked between two statements of its claim was refused, and not told of what it held by then.
    ("claim", "mark a worker"),
    ("claim, knowing the lanes", "mark a worker"),
    # A cancel ended all that was overdue, and then waited for one of them with the others in hand: a deadlock.
    ("enqueue in place of what is overdue", "cancel what is overdue"),
]


def seed() -> int:
    """Another one with each commit: in time all pairs are met."""
    return commits()


def draw(of_seed: int, count: int, pairs: Sequence[tuple[str, str]] = PAIRS) -> list[tuple[str, str]]:
    return random.Random(of_seed).sample(pairs, min(count, len(pairs)))


def draw_operations(of_seed: int, count: int) -> list[str]:
    return random.Random(of_seed).sample(ALL, min(count, len(ALL)))
