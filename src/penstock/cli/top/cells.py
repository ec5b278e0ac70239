"""A row as it stands in a table: which columns there are, and which of them a narrow terminal goes without."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.cli.output.tables import fitted_table, text
from penstock.cli.workers.list import STATUS_STYLES
from penstock.observe.top.rows import By, Row, TenantWork, Work, WorkerLoad

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table
    from rich.text import Text

UNKNOWN = "-"
NAME_CHARS_MAX = 40
# A narrow terminal goes without these, in this order; --json has them all.
SPARE = (
    "scheduled", "come/s", "run p50", "wait p50", "run p99", "failed/s", "wait p99", "errors", "host", "heard of",
)  # fmt: skip
WORDS = {"status", "host"}


def table_of(rows: Sequence[Row], by: By) -> Table:
    cells = [_cells(row, by) for row in rows]
    made = fitted_table(cells, [name for name in SPARE if name in cells[0]])
    for column in made.columns[1:]:
        if column.header not in WORDS:
            column.justify = "right"
    return made


def _cells(row: Row, by: By) -> dict[str, Text]:
    name = {by: text(row.name, NAME_CHARS_MAX)}
    match row:
        case Work():
            return name | _of_work(row)
        case TenantWork():
            return name | _of_tenant(row)
        case WorkerLoad():
            return name | _of_worker(row)


def _of_work(row: Work) -> dict[str, Text]:
    return {
        "done/s": text(rate(row.completed_per_second)),
        "failed/s": text(rate(row.failed_per_second)),
        "errors": _share(row.failed_share),
        "come/s": text(rate(row.comes_per_second)),
        "pending": text(f"{row.pending:,}"),
        "oldest": text(lasted(row.oldest_seconds)),
        "scheduled": text(f"{row.scheduled:,}"),
        "slots": _slots(row.running, row.slots),
        "wait p50": text(lasted(row.wait.p50)),
        "wait p99": text(lasted(row.wait.p99)),
        "run p50": text(lasted(row.run.p50)),
        "run p99": text(lasted(row.run.p99)),
    }


def _of_tenant(row: TenantWork) -> dict[str, Text]:
    return {
        "done/s": text(rate(row.completed_per_second)),
        "failed/s": text(rate(row.failed_per_second)),
        "errors": _share(row.failed_share),
        "slots busy": text(rate(row.slots_busy)),
    }


def _of_worker(row: WorkerLoad) -> dict[str, Text]:
    from rich.text import Text

    return {
        "status": Text(row.status, style=STATUS_STYLES.get(row.status, "")),
        "jobs": text(f"{row.jobs:,}"),
        "slots": text(f"{row.slots:,}"),
        "heard of": text(f"{lasted(row.silent_seconds)} ago"),
        "host": text(row.host),
    }


def _slots(running: int, slots: int) -> Text:
    """In use, of all; that there are none is worth a colour."""
    from rich.text import Text

    return Text(f"{running:,}/{slots:,}", style="" if slots else "yellow")


def _share(share: float | None) -> Text:
    from rich.text import Text

    if share is None:
        return Text(UNKNOWN)
    shown = "0 %" if share == 0 else "<1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")
    return Text(shown, style="red" if share >= 0.1 else "")


def rate(per_second: float | None) -> str:
    """In three digits, as long as that says enough."""
    if per_second is None:
        return UNKNOWN
    if per_second >= 100 or per_second == 0:
        return f"{per_second:,.0f}"
    return f"{per_second:.1f}" if per_second >= 10 else f"{per_second:.2f}"


def lasted(seconds: float | None) -> str:
    """How long in one unit: 12ms, 3.4s, 4m, 2h, 3d."""
    if seconds is None:
        return UNKNOWN
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    if seconds < 60:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    size, unit = next(found for found in ((86400, "d"), (3600, "h"), (60, "m")) if seconds >= found[0])
    return f"{seconds / size:.0f}{unit}"
