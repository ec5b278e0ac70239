"""The table at the end of `make chaos`."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from tests.chaos.run import Outcome

COLUMNS = ("fault", "engine", "jobs", "lost", "late writes refused", "accepted", "pickup p50", "p99", "bound", "s")


def print_table(console: Console, outcomes: list[Outcome], wanted: int) -> None:
    """Of so many runs that were wanted."""
    table = Table(title="What the faults did", caption=f"{verdict(outcomes, wanted)}")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in ("fault", "engine") else "right", no_wrap=True)
    for outcome in outcomes:
        table.add_row(*cells(outcome), style=None if outcome.problem is None else "red")
    console.print(table)


def cells(outcome: Outcome) -> list[str]:
    figures = outcome.figures
    counts = (figures.jobs, figures.lost, figures.refused, figures.accepted)
    times = (figures.pickup(0.5), figures.pickup(0.99), figures.bound if figures.pickups else None)
    return [
        outcome.fault.name,
        outcome.engine,
        *map(str, counts),
        *("" if time is None else f"{time:.2f} s" for time in times),
        f"{outcome.seconds:.1f}",
    ]


def verdict(outcomes: list[Outcome], wanted: int) -> str:
    broken = sum(outcome.problem is not None for outcome in outcomes)
    jobs = sum(outcome.figures.jobs for outcome in outcomes)
    lost = sum(outcome.figures.lost for outcome in outcomes)
    accepted = sum(outcome.figures.accepted for outcome in outcomes)
    kept = f"{len(outcomes)} runs, every promise kept" if not broken else f"{broken} of {len(outcomes)} runs BROKEN"
    if len(outcomes) < wanted:
        kept = f"interrupted: {len(outcomes)} of {wanted} runs done, {broken} of them BROKEN"
    return f"{kept}; {jobs} jobs, {lost} lost; {accepted} writes of superseded tokens accepted"
