"""Without any one of its safeguards, penstock breaks a promise, and a seed shows it. `make ablate` finds them all."""

from __future__ import annotations

import pytest

from tests.simulation.ablations import SAFEGUARDS
from tests.simulation.many import Case, run_many
from tests.simulation.test_seeds import SEEDS


@pytest.mark.turns
@pytest.mark.parametrize("name", SAFEGUARDS)
def test_its_absence_is_noticed(name: str) -> None:
    """By the seed that is known to."""
    (outcome,) = run_many([Case(SAFEGUARDS[name].caught_by, name)], processes=1)
    assert outcome.trouble


@pytest.mark.parametrize("name", SAFEGUARDS)
def test_its_seed_is_among_those_that_pass_with_it(name: str) -> None:
    assert SAFEGUARDS[name].caught_by < SEEDS
