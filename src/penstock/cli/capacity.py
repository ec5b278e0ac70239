"""`penstock capacity`: how many workers it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import app_on
from penstock.cli.output.tables import ago, fitted_table, print_json, show, text
from penstock.cli.running.guard import fail, guarded
from penstock.domain.clock import MICROSECONDS

if TYPE_CHECKING:
    from rich.text import Text

    from penstock.client.stats import Capacity

NOT_YET = (
    "nothing was counted yet: whoever leads does that every few seconds; start a worker, or without one: "
    "penstock coordinator"
)
SPARE = ("claimed", "failed/h", "8 h", "4 h", "jobs/h each", "capability")
UNKNOWN = "-"


@guarded
def capacity(
    type: Annotated[str | None, typer.Argument(metavar="[TYPE]", help="Only jobs of this type.")] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="TIME", help="Also how many it takes to be done by then, like 08:00.")
    ] = None,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Say how many workers it takes to do what is pending, by type, queue and capability.

    From how long attempts took in the last 24 hours and how many jobs a worker runs at once; a dash is not known. What
    comes meanwhile is not in it. A time of day is that of this machine's time zone.

    \b
    penstock capacity --store sqlite:///jobs.db
    penstock capacity send_email --by 08:00
    penstock capacity --json
    """
    with app_on(store) as app:
        rows = app.stats.capacity(type, by=by)
        sample = app.stats.sample()
        now = app.store.read_clock().wait()
    if as_json:
        print_json({"capacity": rows, "sampled_at": None if sample is None else sample.at})
        return
    if sample is None:
        fail(NOT_YET)
    if not rows:
        fail(f"no job of type {type!r} was ever enqueued here" if type else "no job was ever enqueued here")
    made = fitted_table([_cells(row) for row in rows], SPARE)
    for column in made.columns[3:]:
        column.justify = "right"
    show(made, f"as of {ago((now - sample.at) / MICROSECONDS)}{_until(rows)}")


def _until(rows: list[Capacity]) -> str:
    by = rows[0].by
    return "" if by is None else f"; to be done by {by.isoformat(sep=' ', timespec='minutes')}"


def _cells(row: Capacity) -> dict[str, Text]:
    cells = {
        "type": row.type,
        "queue": row.queue,
        "capability": row.capability,
        "pending": f"{row.pending:,}",
        "claimed": f"{row.claimed:,}",
        "running": f"{row.running:,}",
        "done/h": f"{row.completed_last_hour:,}",
        "failed/h": f"{row.failed_last_hour:,}",
        "took": _number(row.avg_duration_seconds, " s"),
        "workers": f"{row.active_workers:,}",
        "jobs/h each": _number(row.jobs_per_worker_hour),
        "drained in": _number(row.hours_to_drain, " h"),
        "1 h": _whole(row.workers_for_1_hour),
        "4 h": _whole(row.workers_for_4_hours),
        "8 h": _whole(row.workers_for_8_hours),
    }
    if row.by is not None:
        cells["by then"] = _whole(row.workers_by)
    return {name: text(value) for name, value in cells.items()}


def _whole(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _number(value: float | None, unit: str = "") -> str:
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}{unit}" if value >= 100 else f"{value:.3g}{unit}"
