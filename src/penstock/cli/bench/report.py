"""Prints the figures of a benchmark: a table for people, one JSON document for programs."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from penstock.bench.figures import ROWS
from penstock.cli.output.tables import console, print_json


def print_report(document: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(document)
        return
    out = console()
    out.print(_table(document, document.get("raw")))
    for name, value in document["settings"].items():
        out.print(f"{name.replace('_', ' ')}: {value}", soft_wrap=True)
    for note in document["notes"]:
        out.print(f"note: {note}", style="yellow", soft_wrap=True)


def _table(figures: dict[str, Any], raw: dict[str, float] | None) -> Table:
    table = Table("")
    for title in ("penstock", *(("bare driver", "ratio") if raw else ())):
        table.add_column(title, justify="right")
    for row in ROWS:
        ours, bare = figures.get(row.name), (raw or {}).get(row.name)
        cells = [row.title, row.shown(ours) if ours else ""]
        if raw:
            cells += [row.shown(bare) if bare else "", f"{ours / bare:.2f}" if ours and bare else ""]
        if ours or bare:
            table.add_row(*cells)
    return table
