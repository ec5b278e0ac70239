"""Measures a store on this machine: enqueueing, draining, pickup; beside the bare driver if asked.

Each figure is the median of interleaved rounds, because machines drift: compare ratios of one run only.
"""

from __future__ import annotations

from penstock.store.params import History


def run(
    jobs: int, rounds: int, processes: int, history: str, raw: bool, as_json: bool, out: str | None, store: str | None
) -> None:
    """Measure and print. The worker processes are children of this one; everything is removed at the end."""
    from penstock.cli.bench.files import refuse_unwritable, write
    from penstock.cli.bench.place import bench_store
    from penstock.cli.bench.report import print_report
    from penstock.cli.bench.rounds import Order, measure

    kept: dict[str, History] = {"all": "all", "default": "default", "failures": "failures", "none": "none"}
    if out is not None:
        refuse_unwritable(out)
    with bench_store(store) as place:
        document = measure(place, Order(jobs, rounds, processes, kept[history], raw), quiet=as_json)
    try:
        if out is not None:
            write(out, document)
    finally:  # What took minutes to find is shown, even if it cannot be written.
        print_report(document, as_json)


def run_comparison(before: str, after: str, as_json: bool) -> None:
    """Print what two files of --out or --json say, side by side."""
    from penstock.cli.bench.comparison import compare_runs
    from penstock.cli.bench.comparison_report import print_comparison
    from penstock.cli.bench.files import read

    print_comparison(compare_runs(read(before), read(after)), as_json)
