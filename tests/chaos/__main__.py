"""`make chaos`: all faults at full size, with a line for each as it goes and a table at the end."""

from __future__ import annotations

import tests.early  # noqa: F401

# isort: split

import argparse
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from tests.chaos.catalogue import ELSEWHERE, ROWS, Fault, all_faults
from tests.chaos.paper import print_table
from tests.chaos.places import ENGINES, EngineName
from tests.chaos.run import Outcome, run_fault
from tests.chaos.servers import new_server
from tests.chaos.sizes import FULL, SHORT, Size
from tests.commands import INTERRUPTED, hear_interrupts

SEED_MAX = 999_999
PAPER_WIDTH = 140


def main(arguments: list[str] | None = None) -> int:
    options = _options().parse_args(arguments)
    size = SHORT if options.size == "short" else FULL
    seed = random.SystemRandom().randint(1, SEED_MAX) if options.seed is None else options.seed
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = PAPER_WIDTH
    runs = list(chosen(all_faults(), options.fault, options.engine, size))
    if not runs:
        on = f" on {options.engine}" if options.engine else ""
        console.print(f"no fault is called {options.fault!r}{on}; there are: {_names(options.engine)}")
        return 2
    console.print(f"{len(runs)} runs of up to {size.jobs} jobs, seed {seed}")
    hear_interrupts()
    outcomes: list[Outcome] = []
    try:
        outcomes.extend(carried_out(console, runs, size, seed))
    except KeyboardInterrupt:
        console.print(f"interrupted after {len(outcomes)} of {len(runs)} runs")
    print_table(console, outcomes, len(runs))
    for row, where in ELSEWHERE.items():
        console.print(f"not among these faults, but tested: {ROWS[row]}, by {where}")
    return INTERRUPTED if len(outcomes) < len(runs) else int(any(outcome.problem for outcome in outcomes))


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="where all chance comes from; drawn if not given")
    parser.add_argument("--fault", help="only this one, or those whose names begin so")
    parser.add_argument("--engine", choices=ENGINES, help="only on this engine")
    parser.add_argument("--size", choices=("full", "short"), default="full")
    return parser


def _names(engine: EngineName | None) -> str:
    return ", ".join(fault.name for fault in all_faults() if engine is None or engine in fault.engines)


def chosen(
    faults: list[Fault], name: str | None, engine: EngineName | None, size: Size
) -> Iterator[tuple[Fault, EngineName]]:
    """The runs: what was named in whatever size, and of the rest what is worth its time in this one."""
    exact = {fault.name for fault in faults} & {name}
    for fault in faults:
        named = fault.name == name if exact else bool(name) and fault.name.startswith(str(name))
        worth = fault.short if size is SHORT else fault.full
        engines = fault.engines if named else worth if name is None else ()
        yield from ((fault, one) for one in engines if engine in (None, one))


def carried_out(console: Console, runs: list[tuple[Fault, EngineName]], size: Size, seed: int) -> Iterator[Outcome]:
    with new_server() as server:
        for number, (fault, engine) in enumerate(runs, 1):
            with console.status(f"{number}/{len(runs)} {fault.name} on {engine}: {fault.story}"), _folder() as folder:
                outcome = run_fault(fault, engine, size, seed, folder, server)
                _keep_if(outcome.problem is not None, folder)
            mark = "[green]kept[/green]" if outcome.problem is None else "[red]BROKEN[/red]"
            console.print(f"{number:>3}/{len(runs)} {mark} {fault.name} on {engine}, {outcome.seconds:.1f} s")
            if outcome.problem is not None:
                console.print(outcome.problem, markup=False)
            yield outcome


KEPT = "kept"


@contextmanager
def _folder() -> Iterator[Path]:
    """Of one run: removed unless it is to be kept."""
    folder = Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
    try:
        yield folder
    finally:
        if not (folder / KEPT).exists():
            shutil.rmtree(folder)


def _keep_if(wanted: bool, folder: Path) -> None:
    if wanted:
        (folder / KEPT).touch()


if __name__ == "__main__":
    sys.exit(main())
