"""Without any one of its safeguards, penstock breaks a promise, and a seed shows it. `make ablate` finds them all."""

from __future__ import annotations

import pytest

from tests.simulation.ablations import SAFEGUARDS, Safeguard
from tests.simulation.run import run_seed
from tests.simulation.test_seeds import SEEDS

ALL = list(SAFEGUARDS.values())


@pytest.mark.parametrize("safeguard", ALL, ids=lambda one: one.name)
def test_its_absence_is_noticed(safeguard: Safeguard) -> None:
    assert run_seed(safeguard.caught_by, safeguard.without).trouble


@pytest.mark.parametrize("safeguard", ALL, ids=lambda one: one.name)
def test_its_seed_is_among_those_that_pass_with_it(safeguard: Safeguard) -> None:
    assert safeguard.caught_by < SEEDS
