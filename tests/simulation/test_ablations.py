"""Without any one of its safeguards, penstock breaks a promise, and a seed shows it. `make ablate` finds them all."""

from __future__ import annotations

from functools import cache

import pytest

from tests.simulation.ablations import SAFEGUARDS
from tests.simulation.many import Case, run_many
from tests.simulation.run import Outcome
from tests.simulation.test_seeds import SEEDS


@cache
def outcomes() -> dict[str, Outcome]:
    """Of each safeguard, the seed that is known to notice its absence."""
    cases = [Case(one.caught_by, one.name) for one in SAFEGUARDS.values()]
    return dict(zip(SAFEGUARDS, run_many(cases), strict=True))


@pytest.mark.parametrize("name", SAFEGUARDS)
def test_its_absence_is_noticed(name: str) -> None:
    assert outcomes()[name].trouble


@pytest.mark.parametrize("name", SAFEGUARDS)
def test_its_seed_is_among_those_that_pass_with_it(name: str) -> None:
    assert SAFEGUARDS[name].caught_by < SEEDS
