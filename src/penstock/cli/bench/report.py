"""Prints the figures of a benchmark: a table for people, one JSON document for programs."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from penstock.cli.output import console, print_json

_ROWS = (
    ("enqueue_single_per_s", "enqueue one by one, plain code", "jobs/s"),
    ("enqueue_single_async_per_s", "enqueue one by one, async code", "jobs/s"),
    ("enqueue_concurrent_per_s", "enqueue, 20 concurrent callers", "jobs/s"),
    ("enqueue_bulk_per_s", "enqueue 10,000 in bulk", "jobs/s"),
    ("drain_per_s", "drain, async handlers", "jobs/s"),
    ("drain_batch_500_per_s", "claim and complete, batches of 500", "jobs/s"),
    ("drain_threads_per_s", "drain, plain handlers (threads)", "jobs/s"),
    ("drain_processes_per_s", "drain, process handlers", "jobs/s"),
    ("pickup_ms_p50", "pickup by an idle process, p50", "ms"),
    ("pickup_ms_p99", "pickup by an idle process, p99", "ms"),
)


def print_report(figures: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(figures)
        return
    out = console()
    raw: dict[str, float] | None = figures.get("raw")
    table = Table("", "penstock", *(("bare driver", "ratio") if raw else ()))
    for name, title, unit in _ROWS:
        ours, bare = figures.get(name), (raw or {}).get(name)
        cells = [title, f"{ours:,} {unit}" if ours else ""]
        if raw:
            cells += [f"{bare:,} {unit}" if bare else "", f"{ours / bare:.2f}" if ours and bare else ""]
        if ours or bare:
            table.add_row(*cells)
    out.print(table)
    for name, value in figures["settings"].items():
        out.print(f"{name.replace('_', ' ')}: {value}", soft_wrap=True)
