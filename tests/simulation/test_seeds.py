"""Every promise is kept in every seed, the same seed is the same story, and what must happen somewhere does."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from functools import cache

import pytest

from tests.long import commits
from tests.simulation.features import PAIRS, Pair, draw_theme
from tests.simulation.many import Case, run_many
from tests.simulation.paired import ENOUGH_SEEDS, empty, impossible
from tests.simulation.run import Outcome, run_seed
from tests.simulation.sometimes import SOMETIMES

SEEDS = ENOUGH_SEEDS
FRESH = 20
REPLAYED = (0, 7)
HASH = """
import hashlib
from tests.simulation.run import run_seed
print(hashlib.sha256(run_seed({}).history).hexdigest())
"""


@cache
def outcomes() -> list[Outcome]:
    return list(run_many(map(Case, range(SEEDS))))


@pytest.mark.long("seeds")
def test_every_promise_is_kept_in_every_seed() -> None:
    check(outcomes())


def test_every_promise_is_kept_in_seeds_that_nobody_has_run() -> None:
    """Others with each commit; a failure says which."""
    first = SEEDS + commits() * FRESH
    check(list(run_many(map(Case, range(first, first + FRESH)))))


def check(outcomes: list[Outcome]) -> None:
    failed = [one for one in outcomes if one.trouble]
    assert not failed, (
        f"{len(failed)} of {len(outcomes)} seeds failed; the first is {failed[0].seed}:\n{failed[0].trouble}"
    )


@pytest.mark.long("seeds")
@pytest.mark.parametrize("what", SOMETIMES)
def test_it_has_happened(what: str) -> None:
    happened: Counter[str] = Counter()
    for one in outcomes():
        happened.update(one.happened)
    assert happened[what] > 0, f"in {SEEDS} seeds this never happened: {what}"


@pytest.mark.long("seeds")
def test_any_two_features_have_come_together_on_one_job() -> None:
    """Those of which that cannot be have not, either."""
    pairs: Counter[Pair] = Counter()
    for one in outcomes():
        pairs.update(one.pairs)
    assert not empty(pairs), f"in {SEEDS} seeds no job had both: {empty(pairs)}"
    assert not impossible(pairs)


def test_all_pairs_are_in_as_many_seeds_as_there_are_pairs() -> None:
    drawn = Counter(
        pair for seed in range(len(PAIRS)) for pair in PAIRS if draw_theme(seed).issuperset(pair)
    )  # fmt: skip
    assert all(drawn[pair] for pair in PAIRS if "expired" not in pair)


@pytest.mark.parametrize("seed", REPLAYED)
def test_the_same_seed_is_the_same_story(seed: int) -> None:
    """Here, and in another process, where addresses and hashes are others."""
    once, again = run_seed(seed), run_seed(seed)
    assert once.history == again.history
    assert len(once.history) > 10_000
    elsewhere = subprocess.run(
        [sys.executable, "-c", HASH.format(seed)], env={"PYTHONHASHSEED": "1", "PYTHONPATH": "."},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert elsewhere.stdout.strip() == hashlib.sha256(once.history).hexdigest()


def test_another_seed_is_another_story() -> None:
    assert run_seed(REPLAYED[0]).history != run_seed(REPLAYED[1]).history
