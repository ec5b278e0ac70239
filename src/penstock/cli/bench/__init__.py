"""Measures a store on this machine: enqueueing, draining, pickup; beside the bare driver if asked.

Each figure is the median of interleaved rounds, because machines drift: compare ratios of one run only.
"""

from __future__ import annotations

from typing import Any

from penstock.store.params import History


def run(jobs: int, processes: int, history: str, raw: bool, as_json: bool, store: str | None) -> None:
    """Measure and print. The worker processes are children of this one; everything is removed at the end."""
    from penstock.cli.bench.parts import measure
    from penstock.cli.bench.place import bench_store
    from penstock.cli.bench.report import print_report

    kept: dict[str, History] = {"all": "all", "default": "default", "failures": "failures", "none": "none"}
    with bench_store(store) as place:
        figures: dict[str, Any] = measure(place, jobs, processes, kept[history], raw, quiet=as_json)
    print_report(figures, as_json)
