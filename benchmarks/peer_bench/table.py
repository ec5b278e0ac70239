"""The table of a run on the terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from benchmarks.peer_bench.contestant import Contestant
from benchmarks.peer_bench.results import COLUMNS, PLAIN, WITHOUT_HISTORY, Column, Results

CAPTION = (
    "Under a peer's figure: penstock ÷ peer, of turns side by side, with default history, and where there is a second "
    "number without history. Of pickup times, below 1 is better for penstock."
)


def made(results: Results) -> Table:
    table = Table("", *(column.title for column in COLUMNS), caption=CAPTION, caption_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for who in results.contestants:
        table.add_row(Text(who.title), *(_cell(results, who, column) for column in COLUMNS))
    return table


def _cell(results: Results, who: Contestant, column: Column) -> Text:
    lines = [column.shown(results.median(who.name, column.figure))]
    if who in results.peers:
        lines.append(ratios(results, who, column))
    elif column.figure == "single_per_s" and (plain := results.median(who.name, PLAIN.figure)):
        lines.append(f"plain {PLAIN.shown(plain)}")
    return Text("\n".join(line for line in lines if line))


def ratios(results: Results, peer: Contestant, column: Column) -> str:
    """With default history, and without where that matters."""
    found = [results.ratio(peer, column.figure)]
    if column.figure in WITHOUT_HISTORY:
        found.append(results.ratio(peer, column.figure, "none"))
    return " · ".join(f"{ratio.beside:.2f} ×" for ratio in found if ratio)
