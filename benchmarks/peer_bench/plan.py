"""In which order everything is measured: penstock right before each peer, so that drift meets both, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peer_bench.catalogue import Engine, Part
from benchmarks.peer_bench.contestant import BESIDE, HISTORY_PARTS, OUR_PARTS, Contestant, our_name


@dataclass(frozen=True)
class Step:
    """One contestant's turn. `beside` is the peer that a turn of penstock's is compared with."""

    round: int
    who: Contestant
    parts: tuple[Part, ...]
    beside: str | None = None


@dataclass(frozen=True)
class Group:
    """What belongs together in time: a calibration, penstock, and the peer if there is one."""

    steps: tuple[Step, ...]


def one_round(number: int, ours: Sequence[Contestant], peers: Sequence[Contestant]) -> list[Group]:
    """All of penstock is measured at least once a round on each engine: beside the first peer there, else alone."""
    seen: set[Engine] = set()
    groups = []
    for peer in peers:
        engine = BESIDE[peer.engine]
        steps = _beside(number, ours, peer, complete=engine not in seen)
        groups.append(Group((*steps, Step(number, peer, peer.parts))))
        seen.add(engine)
    engines: tuple[Engine, ...] = ("postgres", "sqlite")
    alone = [engine for engine in engines if engine not in seen]
    return [Group(_alone(number, ours, engine)) for engine in alone] + groups


def _beside(number: int, ours: Sequence[Contestant], peer: Contestant, complete: bool) -> tuple[Step, ...]:
    """The same parts as the peer's, plain code beside plain code."""
    single: Part = "single_plain" if peer.plain else "single"
    same = tuple(single if part == "single" else part for part in peer.parts)
    both = (
        (our_name(peer.engine, "default"), OUR_PARTS if complete else same),
        (our_name(peer.engine, "none"), HISTORY_PARTS if complete else only(HISTORY_PARTS, same)),
    )
    return tuple(Step(number, _named(ours, name), parts, peer.name) for name, parts in both)


def _alone(number: int, ours: Sequence[Contestant], engine: Engine) -> tuple[Step, ...]:
    return (
        Step(number, _named(ours, our_name(engine, "default")), OUR_PARTS),
        Step(number, _named(ours, our_name(engine, "none")), HISTORY_PARTS),
    )


def only(parts: Sequence[Part], among: Sequence[Part]) -> tuple[Part, ...]:
    return tuple(part for part in parts if part in among)


def _named(ours: Sequence[Contestant], name: str) -> Contestant:
    return next(one for one in ours if one.name == name)
