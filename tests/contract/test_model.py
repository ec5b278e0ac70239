"""A store driven at random, step by step, against a model of it; no two features may never have come together."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from random import Random

import pytest

from tests.contract.engines import BY_TURNS, Engine
from tests.contract.model import StoreModel, say
from tests.contract.model_pairs import PAIRS, Pair, count_pairs, table
from tests.long import commits

STEPS = 80
FRESH = 1_000_000
"""From here on, seeds are others with each commit."""
WALKS_FOR_ALL = 75
"""So many have every pair of features; where they are dear there are fewer."""


@pytest.mark.parametrize("engine", BY_TURNS)
def test_the_store_follows_the_model(engine: Engine) -> None:
    together: Counter[Pair] = Counter()
    walks, more = engine.examples // 2, engine.examples // 5
    fresh = FRESH + commits() * more
    for seed in (*range(walks), *range(fresh, fresh + more)):
        say("seed", seed)
        random, model = Random(seed), StoreModel(engine)
        with closing(model):
            for _ in range(STEPS):
                model.step(random)
        if seed < FRESH:
            together.update(count_pairs(job.features for job in model.jobs))
    if walks >= WALKS_FOR_ALL:
        say(table(together))
        assert [pair for pair in PAIRS if not together[pair]] == []
