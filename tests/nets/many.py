"""Pairs of operations, side by side in processes that each have a server of their own."""

from __future__ import annotations

import functools
import multiprocessing
import random
import signal
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field

from tests.nets.interleavings import Net, Verdict
from tests.nets.operations import OPERATIONS
from tests.simulation.many import cores

PAIRS = [(first, second) for first in OPERATIONS for second in OPERATIONS]


@dataclass
class Told:
    """What became of a pair. Only what was found is told one by one."""

    first: str
    second: str
    holds: int = 0
    blocked: int = 0
    missed: list[Verdict] = field(default_factory=list)
    checked: int = 0
    found: list[Verdict] = field(default_factory=list)


def run_pair(net: Net, first: str, second: str, most: int | None = None, chance: random.Random | None = None) -> Told:
    """All of its holds, or so many that are drawn."""
    told = Told(first, second)
    holds = net.holds(first, second)
    if chance is not None and most is not None and most < len(holds):
        holds = chance.sample(holds, most)
    for hold in holds:
        verdict = net.run(first, second, hold)
        told.holds += 1
        told.blocked += verdict.blocked
        told.missed += [] if verdict.held else [verdict]
        told.checked += verdict.checked
        told.found += [verdict] if verdict.problems else []
    return told


def run_many(pairs: Iterable[tuple[str, str]], processes: int | None = None) -> Generator[Told, None, None]:
    """As they are done, in any order. Whoever stops early ends the processes, and their servers go too."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(processes or cores(), _prepare) as pool:
        yield from pool.imap_unordered(_run, pairs)


def _prepare() -> None:
    """Ctrl-C is left to the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@functools.cache
def _net() -> Net:
    return Net()


def _run(pair: tuple[str, str]) -> Told:
    return run_pair(_net(), *pair)
