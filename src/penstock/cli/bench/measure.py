"""Measures or compares, and prints what was found."""

from __future__ import annotations

from penstock.cli.output.tables import console
from penstock.store.contract import History


def run(
    jobs: int, rounds: int, processes: int, history: str, raw: bool, as_json: bool, out: str | None, store: str | None
) -> None:
    """Measure and print. The worker processes are children of this one; everything is removed at the end."""
    from penstock.bench.files import refuse_unwritable, write
    from penstock.bench.fresh_store import bench_store
    from penstock.bench.rounds import BenchOrder, measure
    from penstock.cli.bench.report import print_report

    kept: dict[str, History] = {"all": "all", "default": "default", "failures": "failures", "none": "none"}
    if out is not None:
        refuse_unwritable(out)
    with bench_store(store) as place:
        order = BenchOrder(jobs, rounds, processes, kept[history], raw)
        document = measure(place, order, console(stderr=True), quiet=as_json)
    try:
        if out is not None:
            write(out, document)
    finally:  # What took minutes to find is shown, even if it cannot be written.
        print_report(document, as_json)


def run_comparison(before: str, after: str, as_json: bool) -> None:
    """Print what two files of --out or --json say, side by side."""
    from penstock.bench.comparison import compare_runs
    from penstock.bench.files import read
    from penstock.cli.bench.comparison_report import print_comparison

    print_comparison(compare_runs(read(before), read(after)), as_json)
