"""`penstock capacity`: how many workers it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import app_on
from penstock.cli.output.say import say
from penstock.cli.output.tables import ago, fitted_table, print_json, show, text
from penstock.cli.running.guard import fail, guarded
from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.duration import format_duration

if TYPE_CHECKING:
    from rich.text import Text

    from penstock.client.stats import Capacity
    from penstock.store.contract import Sample

START_ONE = "start a worker, or without one: penstock coordinator"
NOT_YET = f"nothing was counted yet: whoever leads does that every few seconds; {START_ONE}"
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
    from penstock.observe.figures.capacity import is_stale

    with app_on(store) as app:
        rows = app.stats.capacity(type, by=by)
        sample = app.stats.sample()
        now = app.store.read_clock().wait()
    if as_json:
        print_json({"capacity": rows, "sampled_at": None if sample is None else from_us(sample.at)})
        return
    if sample is None:
        fail(NOT_YET)
    if not rows:
        fail(_unknown(type, sample, now))
    made = fitted_table([_cells(row) for row in rows], SPARE)
    for column in made.columns[3:]:
        column.justify = "right"
    show(made, f"as of {ago((now - sample.at) / MICROSECONDS)}{_until(rows)}")
    if is_stale(sample, now):
        say(f"what waits is not counted any more, for nobody leads: {START_ONE}", err=True)


def _unknown(type: str | None, sample: Sample, now: int) -> str:
    when = ago((now - sample.at) / MICROSECONDS)
    if type is None:
        return f"there were no jobs when they were counted, {when}"
    from penstock.client.client import nearest

    near = nearest(type, {gauge.route.type for gauge in sample.gauges})
    return f"there were no jobs of type {type!r} when they were counted, {when}" + (
        "" if near is None else f"; did you mean {near!r}?"
    )


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
        "drained in": UNKNOWN if row.hours_to_drain is None else format_duration(round(row.hours_to_drain * 3600)),
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
