"""make simulate and make ablate: any number of seeds, each of which can be run again by its number."""

from __future__ import annotations

import tests.early  # noqa: F401

# isort: split

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from tests.commands import INTERRUPTED, hear_interrupts, positive
from tests.simulation.ablations import SAFEGUARDS
from tests.simulation.features import FEATURES, NEVER, PAIRS, Pair
from tests.simulation.many import Case, run_many
from tests.simulation.paired import ENOUGH_SEEDS, empty, impossible, least
from tests.simulation.run import Outcome, run_seed
from tests.simulation.sometimes import SOMETIMES

ABLATION_SEEDS_MAX = 200
TABLE_WIDTH = 160

out = Console(highlight=False, soft_wrap=True)


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.save is not None and not options.save.parent.is_dir():
        parser.error(f"--save: there is no folder {options.save.parent}")
    hear_interrupts()
    try:
        if options.ablate:
            return ablate(options.safeguard or list(SAFEGUARDS), options.processes)
        if options.seed is not None:
            return replay(options.seed, options.loud, options.save)
        return simulate(options.first, options.seeds, options.processes, options.keep_going, options.features)
    except KeyboardInterrupt:
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=positive, default=200, help="how many (default 200)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first seed (default 0)")
    parser.add_argument("--seed", type=int, help="run this one alone and tell all about it")
    parser.add_argument("--loud", action="store_true", help="with --seed: show what the workers log")
    parser.add_argument("--save", type=Path, help="with --seed: write the history to this file")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first seed that fails")
    parser.add_argument("--features", action="store_true", help="show which features came together; all must have")
    parser.add_argument("--processes", type=positive, help="how many at once (default: one per core)")
    parser.add_argument("--ablate", action="store_true", help="take each safeguard away and find a seed that notices")
    parser.add_argument("--safeguard", action="append", choices=list(SAFEGUARDS), help="with --ablate: only this one")
    return parser


def replay(seed: int, loud: bool, save: Path | None) -> int:
    """One seed, in this process."""
    if loud:
        import logging

        logging.basicConfig(format="%(message)s", stream=sys.stdout)
    outcome = run_seed(seed, loud=loud)
    if save is not None:
        save.write_bytes(outcome.history)
    out.print(outcome.trouble or f"seed {seed}: every promise was kept", markup=False)
    out.print(f"{outcome.jobs} jobs in {outcome.virtual_seconds:.1f} virtual seconds")
    out.print(_happened(outcome.happened))
    return 1 if outcome.trouble else 0


def simulate(first: int, count: int, processes: int | None, keep_going: bool, features: bool) -> int:
    """Many seeds. The first that fails is told in full; the others in a line each."""
    begun, done, jobs, virtual = time.monotonic(), 0, 0, 0.0
    happened: Counter[str] = Counter()
    pairs: Counter[Pair] = Counter()
    failed: list[Outcome] = []
    outcomes = _with_bar(run_many(map(Case, range(first, first + count)), processes), count, "seeds")
    for outcome in _until_interrupted(outcomes, count):
        done, jobs, virtual = done + 1, jobs + outcome.jobs, virtual + outcome.virtual_seconds
        happened.update(outcome.happened)
        pairs.update(outcome.pairs)
        if outcome.trouble:
            out.print(outcome.trouble if not failed else f"seed {outcome.seed}: {outcome.verdict}", markup=False)
            failed.append(outcome)
            if not keep_going:
                break
    seconds = time.monotonic() - begun
    out.print(_happened(happened))
    if features:
        out.print(_paired(pairs), width=max(out.width, TABLE_WIDTH))
    out.print(_pairs_told(pairs))
    out.print(
        f"{done} seeds from {first}: {len(failed)} failed; {jobs:,} jobs, {virtual:,.0f} virtual seconds in "
        f"{seconds:.1f} s ({done / seconds:.1f} seeds/s)"
    )
    if features:
        wrong = [*(f"never together: {one} × {other}" for one, other in empty(pairs)),
                 *(f"together, and cannot be: {one} × {other}" for one, other in impossible(pairs))]  # fmt: skip
        if empty(pairs) and done < ENOUGH_SEEDS:
            wrong.append(
                f"{done} seeds are too few for all pairs to come together: {ENOUGH_SEEDS} from 0 have them all "
                f"(make simulate SEEDS={ENOUGH_SEEDS} FEATURES=1)"
            )
        out.print("\n".join(wrong), markup=False)
        return 1 if failed or wrong else 0
    return 1 if failed else 0


def _until_interrupted(outcomes: Iterator[Outcome], count: int) -> Iterator[Outcome]:
    done = 0
    try:
        for outcome in outcomes:
            yield outcome
            done += 1
    except KeyboardInterrupt:
        out.print(f"interrupted: {done} of {count} seeds")
        raise


def ablate(names: list[str], processes: int | None) -> int:
    """The first seed that notices each safeguard's absence; the same seeds must pass while it is there."""
    table = Table("taken away", "first seed that notices", "what it says")
    missed = 0
    for name in names:
        cases = (Case(seed, name) for seed in range(ABLATION_SEEDS_MAX))
        with closing(run_many(cases, processes)) as seeds:
            caught = next((one for one in _with_bar(seeds, ABLATION_SEEDS_MAX, name) if one.trouble), None)
        if caught is None:
            missed += 1
            table.add_row(name, "none", f"not noticed in {ABLATION_SEEDS_MAX} seeds: the checker is broken")
            continue
        whole = run_seed(caught.seed)
        missed += bool(whole.trouble)
        said = f"FAILS WITH IT TOO: {whole.verdict}" if whole.trouble else caught.verdict
        table.add_row(name, str(caught.seed), said)
    out.print(table)
    return 1 if missed else 0


def _with_bar(outcomes: Iterable[Outcome], count: int, what: str) -> Iterator[Outcome]:
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        yield from progress.track(outcomes, total=count)


def _happened(happened: Counter[str]) -> Table:
    table = Table("what happened", "times", box=None)
    for name in SOMETIMES:
        table.add_row(name, f"{happened[name]:,}")
    return table


def _paired(pairs: Counter[Pair]) -> Table:
    """How many jobs had both of two features."""
    table = Table("jobs with both", *(str(number) for number, _ in enumerate(FEATURES[:-1], 1)), box=None, padding=0)
    for number, name in enumerate(FEATURES, 1):
        table.add_row(f"{number} {name}", *(_cell(pairs, name, other) for other in FEATURES[: number - 1]))
    return table


def _cell(pairs: Counter[Pair], one: str, other: str) -> str:
    count = pairs[min(one, other), max(one, other)]
    return f" {count}" if count or frozenset((one, other)) not in NEVER else " –"


def _pairs_told(pairs: Counter[Pair]) -> str:
    (one, other), times = least(pairs)
    return f"{len(PAIRS) - len(empty(pairs))} of {len(PAIRS)} pairs; the least of all: {one} × {other}, {times} jobs"


if __name__ == "__main__":
    sys.exit(main())
