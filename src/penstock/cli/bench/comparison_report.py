"""Prints a comparison of two runs: a table for people, one JSON document for programs."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from penstock.bench.comparison import ROUNDS_MIN, ComparedFigure, Comparison
from penstock.cli.output.tables import clean, console, print_json

STYLES = {"faster": "green", "slower": "red"}
MARKS = {"faster": "faster", "slower": "slower", "same": "", "unknown": "?"}


def print_comparison(found: Comparison, as_json: bool) -> None:
    if as_json:
        print_json(_document(found))
        return
    out = console()
    for name, run in (("before", found.before), ("after", found.after)):
        out.print(clean(f"{name}: {run.path}, penstock {run.settings.get('penstock', 'of a version not stated')}"))
    out.print(_table(found))
    for line in _explained(found):
        out.print(line, soft_wrap=True)
    if found.differing:
        out.print("warning: the runs differ in more than penstock, so they may not be comparable:", style="yellow")
        for name, (first, second) in found.differing.items():
            out.print(clean(f"  {name.replace('_', ' ')}: {first} → {second}"), style="yellow", soft_wrap=True)


def _table(found: Comparison) -> Table:
    table = Table("", box=None, pad_edge=False, header_style="bold")
    for title in ("before", "after", "after ÷\nbefore", *(["beside\nthe bare\ndriver"] if found.has_raw else [])):
        table.add_column(title, justify="right")
    table.add_column("")
    for line in found.lines:
        row = line.row
        cells = [row.title, row.short(line.before), row.short(line.after), f"{line.ratio:.2f}"]
        if found.has_raw:
            cells.append("" if line.beside_raw is None else f"{line.beside_raw:.2f}")
        table.add_row(*cells, MARKS[line.verdict], style=STYLES.get(line.verdict))
    return table


def _explained(found: Comparison) -> list[str]:
    lines = [
        "",
        "faster, slower: by more than the rounds of either run differ among themselves. Between unmarked figures no "
        "difference is proven.",
    ]
    if found.has_raw:
        lines.append(
            "beside the bare driver: how the ratio to the bare driver of the same run has changed. Machines drift, so "
            "this is what counts."
        )
    else:
        lines.append(
            "Machines drift, and these runs cannot show by how much: measure both with --raw, and penstock is held "
            "against the bare driver of the same run."
        )
    if found.drift is not None:
        lines.append("The bare driver itself is at {:.2f} to {:.2f} of before.".format(*found.drift))
    lines += [
        f"?: {clean(run.path)} holds fewer than {ROUNDS_MIN} rounds, so what is chance cannot be told: measure it "
        f"again with this version and --rounds {ROUNDS_MIN} or more."
        for run in (found.before, found.after)
        if len(run.rounds) < ROUNDS_MIN
    ]
    return lines


def _document(found: Comparison) -> dict[str, Any]:
    return {
        "before": found.before.path,
        "after": found.after.path,
        "figures": {line.row.name: _figure(line) for line in found.lines},
        "raw_drift": found.drift,
        "settings_that_differ": {name: {"before": a, "after": b} for name, (a, b) in found.differing.items()},
    }


def _figure(line: ComparedFigure) -> dict[str, Any]:
    return {
        "before": line.before,
        "after": line.after,
        "ratio": round(line.ratio, 3),
        "beside_raw": None if line.beside_raw is None else round(line.beside_raw, 3),
        "verdict": line.verdict,
    }
