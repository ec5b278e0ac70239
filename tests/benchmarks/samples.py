"""Contestants and figures that are made up."""

from __future__ import annotations

from benchmarks.peer_bench.catalogue import Engine, Facts, Part
from benchmarks.peer_bench.contestant import Contestant, penstock
from benchmarks.peer_bench.environments import ROOT, Installed
from benchmarks.peer_bench.results import Results, Run

FACTS = Facts("durable|", "keeps", "batches", "concurrency", "handler")
PARTS: tuple[Part, ...] = ("single", "drain", "pickup")
OURS = penstock(Installed(ROOT / "python", "0.1.0", "Python 3.11.0", ROOT))


def peer(
    name: str = "peer",
    engine: Engine = "postgres",
    parts: tuple[Part, ...] = PARTS,
    plain: bool = False,
    command: tuple[str, ...] = ("true",),
) -> Contestant:
    return Contestant(name, f"{name} 1.0", engine, command, "Python 3.11.0", FACTS, parts, plain=plain)


def drained(*rounds: tuple[float, float]) -> Results:
    """The drains of penstock on PostgreSQL and of a peer, side by side."""
    results = Results([*OURS, peer()])
    for number, (ours, theirs) in enumerate(rounds, 1):
        results.runs.append(Run(number, "penstock-postgres", "peer", {"drain_per_s": ours}))
        results.runs.append(Run(number, "peer", None, {"drain_per_s": theirs}))
    return results
