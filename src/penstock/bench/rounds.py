"""Measures all parts round by round, and tells a terminal how far it is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from penstock.bench.figures import summary
from penstock.bench.fresh_store import FreshStore
from penstock.bench.jobs import PAYLOAD
from penstock.bench.machine import machine
from penstock.bench.parts import Bench, Part
from penstock.bench.raw_parts import RawBench
from penstock.store.contract import History
from penstock.worker.settings import CONCURRENCY

WARM_UP = "files, connections and statements are ready, and workers have run jobs, before a part is timed"
DRAWN_PER_SECOND = 1
"""Drawing uses the processor that is being measured."""


@dataclass(frozen=True, slots=True)
class BenchOrder:
    """What was asked for."""

    jobs: int
    rounds: int
    processes: int
    history: History
    raw: bool


def measure(place: FreshStore, order: BenchOrder, out: Console, *, quiet: bool) -> dict[str, Any]:
    """The document of a run: all parts in every round, ours and the bare driver's in turn."""
    bench = Bench(place, order.jobs, order.processes, order.history)
    bare: RawBench | None = None
    try:
        settings = _settings(bench, place, order)
        bare = RawBench(place.bare(), order.jobs) if order.raw else None
        _run(bench, bare, order.rounds, _progress(out, quiet))
        return _document(bench, bare) | {"settings": settings, "notes": place.notes(settings)}
    finally:
        bench.close()
        if bare is not None:
            bare.close()


def _settings(bench: Bench, place: FreshStore, order: BenchOrder) -> dict[str, Any]:
    info = bench.info
    return {
        "engine": info.engine,
        "library": info.library,
        "durability": info.durability,
        **place.settings(),
        **machine(),
        "jobs": order.jobs,
        "rounds": order.rounds,
        "processes": order.processes,
        "history": order.history,
        "slots": CONCURRENCY,
        "payload_bytes": len(PAYLOAD),
        "warm_up": WARM_UP,
    }


def _document(bench: Bench, bare: RawBench | None) -> dict[str, Any]:
    """The figures of all rounds together, and those of each round, to tell a difference from chance."""
    if bare is None:
        return {**summary(bench.rounds), "rounds": [summary([noted]) for noted in bench.rounds]}
    pairs = zip(bench.rounds, bare.rounds, strict=True)
    return {
        **summary(bench.rounds),
        "raw": summary(bare.rounds),
        "rounds": [{**summary([ours]), "raw": summary([raw])} for ours, raw in pairs],
    }


# The rounds


def _run(bench: Bench, bare: RawBench | None, rounds: int, drawn: Progress) -> None:
    parts = _interleaved(bench.parts(), bare.parts() if bare else [])
    seconds: dict[str, float] = {}
    with drawn as progress:
        task = progress.add_task("", total=rounds * len(parts), round="", left="")
        for number in range(1, rounds + 1):
            for side in (bench, bare):
                if side is not None:
                    side.begin_round()
            for at, (name, part) in enumerate(parts):
                names = [name for name, _ in parts[at:]] + [name for name, _ in parts] * (rounds - number)
                left = time_left(names, seconds)
                progress.update(task, description=name, round=f"round {number} of {rounds}", left=left, refresh=True)
                begun = time.perf_counter()
                part()
                seconds[name] = time.perf_counter() - begun
                progress.advance(task)


def _interleaved(ours: Sequence[Part], bare: Sequence[Part]) -> list[Part]:
    """Ours and theirs in turn, so that a drift of the machine meets both."""
    mixed: list[Part] = []
    for at in range(max(len(ours), len(bare))):
        mixed += [*bare[at : at + 1], *ours[at : at + 1]]
    return mixed


def time_left(names: Sequence[str], seconds: Mapping[str, float]) -> str:
    """How long the parts that are left will take: each as long as before, one that is new as long as the others."""
    if not seconds:
        return ""
    usual = sum(seconds.values()) / len(seconds)
    whole = round(sum(seconds.get(name, usual) for name in names))
    return f"about {whole // 60}:{whole % 60:02} left"


def _progress(out: Console, quiet: bool) -> Progress:
    return Progress(
        TextColumn("{task.description:<27}"),
        BarColumn(bar_width=12),
        TextColumn("{task.fields[round]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=out,
        disable=quiet or not out.is_terminal,
        transient=True,
        refresh_per_second=DRAWN_PER_SECOND,
    )
