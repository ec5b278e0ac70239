"""`penstock bench`: how fast this machine and store are, or what two such runs say. The measuring is in bench/."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.input.options import AsJson
from penstock.cli.running.guard import guarded
from penstock.domain.errors import UsageError


class HistoryChoice(StrEnum):
    ALL = "all"
    DEFAULT = "default"
    FAILURES = "failures"
    NONE = "none"


@guarded
def bench(
    context: typer.Context,
    jobs: Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="How many jobs each part uses.")] = 10_000,
    rounds: Annotated[
        int, typer.Option("--rounds", min=1, metavar="N", help="How often all is measured; a figure is the median.")
    ] = 3,
    processes: Annotated[int, typer.Option("--processes", min=1, metavar="N", help="Worker processes that drain.")] = 1,
    history: Annotated[HistoryChoice, typer.Option("--history", help="Which transitions are stored.")] = (
        HistoryChoice.DEFAULT
    ),
    raw: Annotated[
        bool, typer.Option("--raw", help="Also the bare driver on the same store, in the same run.")
    ] = False,
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="Also write the figures to a file, as JSON.")
    ] = None,
    compare: Annotated[
        tuple[str, str] | None,
        typer.Option("--compare", metavar="BEFORE AFTER", help="Measure nothing: compare two such files."),
    ] = None,
    as_json: AsJson = False,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="A store that does not exist yet, or a PostgreSQL server.  [default: a new file in this folder]",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Measure enqueueing, draining and pickup latency.

    In a store of its own, removed at the end. Before a part is timed, files and connections are open, statements
    prepared, and workers have run jobs. Machines drift: compare ratios to the bare driver (--raw), not rates.

    \b
    penstock bench --jobs 20000 --raw
    penstock bench --store sqlite:////var/lib/app/bench.db --json
    penstock bench --store postgresql://user@host/database --raw --out before.json
    penstock bench --compare before.json after.json
    """
    from penstock.cli.bench.measure import run, run_comparison

    if compare is None:
        run(jobs, rounds, processes, history.value, raw, as_json, out, store)
    else:
        _refuse_others(context)
        run_comparison(*compare, as_json)


def _refuse_others(context: typer.Context) -> None:
    """What belongs to a measurement would be ignored beside --compare; a second file may have been forgotten."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    typed = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    others = [f"--{name}" for name in typed if name not in ("compare", "as_json")]
    if any(word.startswith("--") for word in context.params["compare"]):
        raise UsageError("--compare takes two files: penstock bench --compare before.json after.json")
    if others:
        raise UsageError(f"--compare reads two files and measures nothing: leave {' '.join(others)} out")
