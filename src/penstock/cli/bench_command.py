"""`penstock bench`: how fast this machine and store are. The measuring is in bench.py."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.guard import guarded
from penstock.cli.options import AsJson, StoreUrl


class HistoryChoice(StrEnum):
    ALL = "all"
    DEFAULT = "default"
    FAILURES = "failures"
    NONE = "none"


@guarded
def bench(
    jobs: Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="How many jobs each part uses.")] = 10_000,
    processes: Annotated[int, typer.Option("--processes", min=1, metavar="N", help="Worker processes that drain.")] = 1,
    history: Annotated[HistoryChoice, typer.Option("--history", help="Which transitions are stored.")] = (
        HistoryChoice.DEFAULT
    ),
    raw: Annotated[
        bool, typer.Option("--raw", help="Also the bare driver on the same store, in the same run.")
    ] = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Measure enqueueing, draining and pickup latency.

    \b
    penstock bench --jobs 20000 --raw
    penstock bench --store sqlite:////var/lib/app/bench.db --json
    penstock bench --store postgresql://user@host/database --raw
    """
    from penstock.cli.bench import run

    run(jobs, processes, history.value, raw, as_json, store)
