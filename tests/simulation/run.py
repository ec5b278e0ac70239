"""Runs one seed from its number alone, and says what was wrong with it."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from penstock.domain.clock import MICROSECONDS
from tests.checker.check import violations
from tests.checker.events import to_line
from tests.checker.history import History
from tests.checker.report import report
from tests.checker.rules import Bounds, Case, Rate
from tests.simulation.chance import chance_from, quiet, store_errors
from tests.simulation.features import Pair
from tests.simulation.loop import Deadlock, Standstill
from tests.simulation.names import API, ORDERED, SHARED, SHOPS
from tests.simulation.paired import count_pairs
from tests.simulation.sometimes import count_happened
from tests.simulation.world import World

PROBLEMS_SHOWN = 10

Ablation = Callable[[], AbstractContextManager[object]]
"""Takes a safeguard away for the length of a block."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a seed. `trouble` is empty when every promise was kept, else the report for a person."""

    seed: int
    trouble: str
    history: bytes
    jobs: int
    virtual_seconds: float
    happened: Counter[str]
    pairs: Counter[Pair]

    @property
    def verdict(self) -> str:
        """The trouble in one line."""
        return self.trouble.splitlines()[0] if self.trouble else ""


def run_seed(seed: int, without: Ablation = nullcontext, loud: bool = False) -> Outcome:
    """The same seed gives the same history, byte for byte, unless the code has changed."""
    with (
        tempfile.TemporaryDirectory(prefix="penstock-simulation-") as folder,
        chance_from(seed),
        quiet(loud),
        store_errors() as said,
        without(),
    ):
        world = World(seed, Path(folder))
        try:
            return _outcome(world, said)
        finally:
            world.close()


def _outcome(world: World, said: list[str]) -> Outcome:
    try:
        world.run()
    except (Deadlock, Standstill) as error:
        world.problems.append(f"{type(error).__name__}: {error}")
    truth = world.truth()
    history = History(world.events)
    case = Case(history, truth, bounds_of(world))
    found = violations(case)
    world.problems += [f"the store says: {one}" for one in said]
    parts = [f"PROBLEM: {problem}" for problem in world.problems[:PROBLEMS_SHOWN]]
    if found:
        parts.insert(0, report(case, found))
    return Outcome(
        seed=world.seed,
        trouble="\n".join([*parts, f"  replay:  make simulate SEED={world.seed}"] if parts else []),
        history=b"".join(map(to_line, world.events)),
        jobs=len(truth.jobs),
        virtual_seconds=world.time.now,
        happened=count_happened(history, truth),
        pairs=count_pairs(case),
    )


def bounds_of(world: World) -> Bounds:
    rates = {API.key: Rate(API.requests, int(API.per * MICROSECONDS))}
    return Bounds(
        once=frozenset({"pay"}),
        pickup_us=world.pickup_us,
        key_limits=SHOPS,
        rates=rates,
        ordered_keys=ORDERED,
        turns=frozenset({SHARED}),
    )
