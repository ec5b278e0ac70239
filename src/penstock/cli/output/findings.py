"""A list of things that were looked at: how each is, what was seen, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from penstock.cli.output.tables import text

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

MARKS = {
    "ok": ("✓", "green"), "warning": ("!", "yellow"), "error": ("✗", "red"),
    "healthy": ("✓", "green"), "degraded": ("!", "yellow"), "unhealthy": ("✗", "red"), "unknown": ("?", "yellow"),
}  # fmt: skip


class ShownFinding(NamedTuple):
    """One of them. `level` is a word of MARKS."""

    level: str
    name: str
    message: str
    fix: str | None


def findings_table(found: Iterable[ShownFinding]) -> Table:
    """Long messages are folded within their column."""
    from rich.table import Table
    from rich.text import Text

    made = Table.grid(padding=(0, 2, 0, 0))
    for _ in range(2):
        made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for seen in found:
        mark, colour = MARKS[seen.level]
        made.add_row(Text(f"{mark} {seen.level}", colour), seen.name, _words(seen))
    return made


def _words(seen: ShownFinding) -> Text:
    from rich.text import Text

    if seen.fix is None:
        return text(seen.message)
    return Text.assemble(text(seen.message), ("\nfix: ", "bold"), text(seen.fix))
