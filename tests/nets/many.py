"""Operations and pairs of them, side by side in processes that each have a net of their own."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from tests.nets.file_scene import shared_folder
from tests.nets.interleavings import Net
from tests.nets.operations import OPERATIONS
from tests.nets.power import PowerNet
from tests.nets.writes import WriteNet, at_writes
from tests.simulation.many import leave_interrupts, new_pool

T = TypeVar("T")

PAIRS = [(first, second) for first in OPERATIONS for second in OPERATIONS]


@dataclass
class Told:
    """What became of a pair. Only what was found is told one by one."""

    first: str
    second: str
    holds: int = 0
    blocked: int = 0
    missed: list[Any] = field(default_factory=list)
    checked: int = 0
    deadlocks: int = 0
    found: list[Any] = field(default_factory=list)


class PairNet(Protocol):
    """Holds the first of two operations, wherever it can."""

    def holds(self, first: str, second: str) -> list[Any]: ...
    def run(self, first: str, second: str, hold: Any) -> Any: ...


def run_pair(net: PairNet, first: str, second: str, choose: Callable[[list[Any]], list[Any]] = list) -> Told:
    """All of its holds, or those that are chosen."""
    told = Told(first, second)
    for hold in choose(net.holds(first, second)):
        verdict = net.run(first, second, hold)
        told.holds += 1
        told.blocked += verdict.blocked
        told.missed += [] if verdict.held else [verdict]
        told.checked += verdict.checked
        told.deadlocks += verdict.deadlocks
        told.found += [verdict] if verdict.problems else []
    return told


def run_cuts(net: PowerNet, name: str, seed: int, most: int | None = None) -> Told:
    """All of its cuts, or so many that are drawn. What of the disk is there comes from the seed."""
    told = Told(name, "")
    cuts = net.cuts(name)
    for cut in cuts if most is None else some(most, random.Random(seed))(cuts):
        verdict = net.run(name, cut, seed)
        told.holds += 1
        told.checked += verdict.checked
        told.found += [verdict] if verdict.problems else []
    return told


def some(most: int, chance: random.Random) -> Callable[[list[T]], list[T]]:
    return lambda found: chance.sample(found, min(most, len(found)))


def run_many(run: Callable[[T], Told], given: Iterable[T], processes: int | None) -> Generator[Told, None, None]:
    """As they are done, in any order. Whoever stops early ends the processes, and their servers go too."""
    with shared_folder(), new_pool(processes, leave_interrupts) as pool:
        yield from pool.imap_unordered(run, given)


# With the net of this process


@functools.cache
def _net() -> Net:
    return Net()


def interleave(pair: tuple[str, str]) -> Told:
    return run_pair(_net(), *pair)


@functools.cache
def _write_net() -> WriteNet:
    return WriteNet()


def write(given: tuple[str, str, int | None]) -> Told:
    """A pair, and where chance comes from: none is needed where the first is held at every statement."""
    first, second, seed = given
    if seed is None:
        return run_pair(_write_net(), first, second)
    return run_pair(_write_net(), first, second, partial(at_writes, random.Random(f"{seed} {first} {second}")))


@functools.cache
def _power_net() -> PowerNet:
    return PowerNet()


def cut(given: tuple[str, int]) -> Told:
    """An operation, and where chance comes from."""
    return run_cuts(_power_net(), *given)
