"""python -m tests.nets: pairs of operations on one store, the first held in its midst, on PostgreSQL (interleavings) or
by two processes on a file (writes); and operations during which power is cut (power).
"""

from __future__ import annotations

import tests.early  # noqa: F401

# isort: split

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from difflib import SequenceMatcher
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.commands import INTERRUPTED, hear_interrupts, positive
from tests.nets import ablations, file_ablations, file_judge, invariants
from tests.nets.draw import draw, draw_operations, seed
from tests.nets.interleavings import Net
from tests.nets.many import PAIRS, Told, cut, interleave, run_many, write
from tests.nets.operations import OPERATIONS
from tests.nets.power import ALL, PowerNet
from tests.nets.writes import WriteNet

LINE_EVERY = 50
RULES = {"interleavings": invariants.RULES, "writes": file_judge.RULES, "power": file_judge.RULES}
WORK: dict[str, tuple[Callable[[Any], Told], str]] = {
    "interleavings": (interleave, "pairs"),
    "writes": (write, "pairs"),
    "power": (cut, "operations"),
}

out = Console(highlight=False, soft_wrap=True)


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.safeguard and not {*options.safeguard} <= _safeguards(options.net).keys():
        parser.error(f"--safeguard: choose from {', '.join(_safeguards(options.net))}")
    hear_interrupts()
    try:
        if options.ablate:
            return ablate(options.net, options.safeguard or list(_safeguards(options.net)))
        return run(options.net, _chosen(options), options.processes)
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.nets", description=__doc__)
    parser.add_argument("net", choices=list(RULES))
    parser.add_argument("--all", action="store_true", help="every pair (20 minutes and more), or every operation")
    parser.add_argument("--pairs", type=positive, default=50, help="so many, drawn by the seed (default 50)")
    parser.add_argument("--operations", type=positive, default=10, help="with power: so many of them (default 10)")
    parser.add_argument("--seed", type=int, help="where chance comes from (default: the number of commits)")
    parser.add_argument("--first", action="append", type=_one_of(ALL), help="only pairs with this one held, or cut")
    parser.add_argument(
        "--second", action="append", type=_one_of(OPERATIONS), help="only pairs with this one beside it"
    )
    parser.add_argument("--ablate", action="store_true", help="take each safeguard away and show what notices")
    parser.add_argument("--safeguard", action="append", help="with --ablate: only this one")
    parser.add_argument("--processes", type=positive, help="how many at once (default: one per core)")
    return parser


def _one_of(names: Iterable[str]) -> Callable[[str], str]:
    """There are so many that usage need not name them: who is wrong is told them once, the most alike first."""

    def read(given: str) -> str:
        if given in names:
            return given
        by_likeness = sorted(names, key=lambda name: SequenceMatcher(None, given, name).ratio(), reverse=True)
        lines = "\n".join(f'  "{name}"' for name in by_likeness)
        raise SystemExit(_say(f'no operation is called "{given}"; there are:\n{lines}'))

    return read


def _say(text: str) -> int:
    """An error of whoever has called it."""
    sys.stderr.write(f"{text}\n")
    return 2


def _safeguards(net: str) -> dict[str, Any]:
    return dict(ablations.SAFEGUARDS) if net == "interleavings" else dict(file_ablations.of_net(net))


def _chosen(options: argparse.Namespace) -> list[Any]:
    drawn = seed() if options.seed is None else options.seed
    named = options.first or options.second
    some = not (options.all or named)
    if some or options.net == "power" or (options.net == "writes" and not named):
        out.print(f"seed {drawn}")
    if options.net == "power":
        names = draw_operations(drawn, options.operations) if some else options.first or list(ALL)
        return [(name, drawn) for name in names]
    pairs = draw(drawn, options.pairs) if some else _pairs(options)
    if options.net == "writes":
        return [(*pair, None if some or named else drawn) for pair in pairs]
    return pairs


def _pairs(options: argparse.Namespace) -> list[tuple[str, str]]:
    pairs = [
        (first, second)
        for first, second in PAIRS
        if first in (options.first or OPERATIONS) and second in (options.second or OPERATIONS)
    ]
    return draw(0, len(pairs), pairs)  # In an order of chance, so that what is left can be told from what was done.


def run(net: str, given: list[Any], processes: int | None) -> int:
    """A line for each run in which something is found, and the figures at the end."""
    work, what = WORK[net]
    began = time.monotonic()
    total = Told("", "")
    done = 0
    interrupted = "interrupted: "
    try:
        for told in _with_bar(run_many(work, given, processes), len(given), what):
            done += 1
            for name in ("holds", "blocked", "missed", "checked", "deadlocks", "found"):
                setattr(total, name, getattr(total, name) + getattr(told, name))
            if not out.is_terminal and done % LINE_EVERY == 0:
                out.print(f"{done} of {len(given)} {what}, {total.holds} boundaries, {len(total.found)} findings")
            for verdict in told.missed:
                out.print(f"never came there: {verdict}", markup=False)
            for verdict in told.found:
                out.print(f"{verdict}", *(f"    {problem}" for problem in verdict.problems), sep="\n", markup=False)
        interrupted = ""
    finally:
        seconds = time.monotonic() - began
        waited = (
            f" (in {total.blocked} the second waited for a lock of the first, {len(total.missed)} never came there)"
        )
        deadlocks = f"{total.deadlocks} deadlocks, " if net == "interleavings" else ""
        out.print(
            f"{interrupted}{done} of {len(given)} {what}, {total.holds} boundaries{waited * (net != 'power')}, "
            f"{total.checked} checks of {RULES[net]} invariants, {deadlocks}{len(total.found)} findings, "
            f"{seconds:.0f} s"
        )
    return 1 if total.found else 0


def ablate(net: str, names: list[str]) -> int:
    """The first run that notices each safeguard's absence."""
    table = Table("taken away", "what notices", "what it says")
    found = {name: _noticed(net, name) for name in names}
    for name, caught in found.items():
        table.add_row(name, *((str(caught), caught.problems[0]) if caught else ("nothing", "the net has a hole")))
    out.print(table)
    return 0 if all(found.values()) else 1


def _noticed(net: str, name: str) -> Any:
    if net == "interleavings":
        with closing(Net()) as server:
            return ablations.noticed(server, ablations.SAFEGUARDS[name])
    if net == "writes":
        with closing(WriteNet()) as writes:
            return file_ablations.noticed(writes, file_ablations.SAFEGUARDS[name])
    with closing(PowerNet()) as power:
        return file_ablations.noticed_by_cuts(power, file_ablations.SAFEGUARDS[name])


def _with_bar(told: Iterable[Told], count: int, what: str) -> Iterator[Told]:
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(told, total=count)


if __name__ == "__main__":
    sys.exit(main())
