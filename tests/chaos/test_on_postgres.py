"""The fault table on PostgreSQL, with less jobs than `make chaos` has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.chaos.catalogue import Fault, all_faults
from tests.chaos.run import run_fault
from tests.chaos.sizes import SHORT
from tests.postgres.server import Server

FAULTS = [
    pytest.param(fault, marks=pytest.mark.long if fault.rare else pytest.mark.turns, id=fault.name)
    for fault in all_faults()
    if "postgresql" in fault.short
]


@pytest.mark.parametrize("fault", FAULTS)
def test_every_promise_is_kept(fault: Fault, seed: int, tmp_path: Path, server: Callable[[], Server]) -> None:
    outcome = run_fault(fault, "postgresql", SHORT, seed, tmp_path, server)
    assert outcome.problem is None, outcome.problem
    assert (outcome.figures.lost, outcome.figures.accepted) == (0, 0)
