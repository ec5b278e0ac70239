"""python -m tests.nets interleavings: pairs of operations on one PostgreSQL, the first held in its midst."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import closing

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.nets.ablations import SAFEGUARDS, noticed
from tests.nets.draw import draw, seed
from tests.nets.interleavings import Net
from tests.nets.invariants import RULES
from tests.nets.many import PAIRS, Told, run_many
from tests.nets.operations import OPERATIONS
from tests.side_by_side import INTERRUPTED, hear_interrupts

LINE_EVERY = 50

out = Console(highlight=False, soft_wrap=True)


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    hear_interrupts()
    try:
        if options.ablate:
            return ablate(options.safeguard or list(SAFEGUARDS))
        return interleavings(_chosen(options), options.processes)
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.nets", description=__doc__)
    parser.add_argument("net", choices=["interleavings"])
    parser.add_argument("--all", action="store_true", help="every pair (an hour or more)")
    parser.add_argument("--pairs", type=int, default=50, help="so many, drawn by the seed (default 50)")
    parser.add_argument("--seed", type=int, help="where chance comes from (default: the number of commits)")
    parser.add_argument("--first", action="append", choices=OPERATIONS, help="only pairs with this one held")
    parser.add_argument("--second", action="append", choices=OPERATIONS, help="only pairs with this one beside it")
    parser.add_argument("--ablate", action="store_true", help="take each safeguard away and show what notices")
    parser.add_argument("--safeguard", action="append", choices=SAFEGUARDS, help="with --ablate: only this one")
    parser.add_argument("--processes", type=int, help="how many at once (default: one per core)")
    return parser


def _chosen(options: argparse.Namespace) -> list[tuple[str, str]]:
    pairs = [
        (first, second)
        for first, second in PAIRS
        if first in (options.first or OPERATIONS) and second in (options.second or OPERATIONS)
    ]
    if options.all or options.first or options.second:
        return draw(0, len(pairs), pairs)  # In an order of chance, so that what is left can be told from what was done.
    drawn = seed() if options.seed is None else options.seed
    out.print(f"seed {drawn}")
    return draw(drawn, options.pairs)


def interleavings(pairs: list[tuple[str, str]], processes: int | None) -> int:
    """A line for each interleaving in which something is found, and the figures at the end."""
    began = time.monotonic()
    total = Told("", "")
    done = 0
    try:
        for told in _with_bar(run_many(pairs, processes), len(pairs)):
            done += 1
            if not out.is_terminal and done % LINE_EVERY == 0:
                out.print(f"{done} of {len(pairs)} pairs, {total.holds} interleavings, {len(total.found)} findings")
            for name in ("holds", "blocked", "missed", "checked"):
                setattr(total, name, getattr(total, name) + getattr(told, name))
            total.found += told.found
            for verdict in told.missed:
                out.print(f"never came there: {verdict}", markup=False)
            for verdict in told.found:
                out.print(f"{verdict}", *(f"    {problem}" for problem in verdict.problems), sep="\n", markup=False)
    finally:
        seconds = time.monotonic() - began
        out.print(
            f"{done} of {len(pairs)} pairs, {total.holds} interleavings (in {total.blocked} the second waited for a "
            f"lock of the first, {len(total.missed)} never came to where they were to be held), {total.checked} checks "
            f"of {RULES} invariants, {len(total.found)} findings, {seconds:.0f} s"
        )
    return 1 if total.found else 0


def ablate(names: list[str]) -> int:
    """The first interleaving that notices each safeguard's absence."""
    table = Table("taken away", "what notices", "what it says")
    missed = 0
    with closing(Net()) as net:
        for name in names:
            caught = noticed(net, SAFEGUARDS[name])
            missed += caught is None
            table.add_row(name, *((str(caught), caught.problems[0]) if caught else ("nothing", "the net has a hole")))
    out.print(table)
    return 1 if missed else 0


def _with_bar(told: Iterable[Told], count: int) -> Iterator[Told]:
    columns = TextColumn("pairs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(told, total=count)


if __name__ == "__main__":
    sys.exit(main())
