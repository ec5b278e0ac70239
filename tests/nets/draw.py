"""Which pairs a short run takes: other ones each day, so that in time all are met; always those that were a defect."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from tests.nets.many import PAIRS

ALWAYS = [
    # A row that was moved while it was chosen was ended and stayed: no claim got past it.
    ("expire", "age"),
    ("age", "expire"),
    # A start waited for the transaction that ended it, and was given back as never begun.
    ("complete in a transaction", "start"),
    ("give back", "start"),
]


def seed_of_today() -> int:
    return int(time.time() // 86_400)


def draw(seed: int, count: int, pairs: Sequence[tuple[str, str]] = PAIRS) -> list[tuple[str, str]]:
    return random.Random(seed).sample(pairs, min(count, len(pairs)))
