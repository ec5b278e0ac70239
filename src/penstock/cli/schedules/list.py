"""`penstock schedules list`: what is due when, what fired last, and what is wrong with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import app_on
from penstock.cli.output.tables import age, fitted_table, moment, plural, print_json, show, text
from penstock.cli.running.guard import guarded
from penstock.domain.clock import from_us
from penstock.domain.duration import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from rich.text import Text

    from penstock.client.schedules.schedule import Schedule
    from penstock.store.contract import WorkerInfo

NOTE_CHARS_MAX = 80
# A narrow terminal goes without these, in this order; --json has them all.
SPARE = ("fires", "zone", "type", "last")
STATUS_STYLES = {"active": "green", "paused": "yellow", "removed": "red"}


@guarded
def list_schedules(
    everything: Annotated[
        bool, typer.Option("--all", help="Also declared ones that were removed, which resume brings back.")
    ] = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """List the schedules by name: when each is due next, when it fired last, and how it is.

    \b
    penstock schedules list --store sqlite:///jobs.db
    penstock schedules list --all --json
    """
    from penstock.observe.stuck import takers_among

    with app_on(store) as app:
        found = app.schedules.list(removed=everything)
        takers = takers_among(app.store.list_workers().wait())
        now = from_us(app.store.read_clock().wait())
        address = app.store.info.address
    if as_json:
        print_json({"schedules": [document(one, takers, now) for one in found], "store": address})
    else:
        _show(found, takers, now, address)


def document(one: Schedule, takers: Sequence[WorkerInfo], now: datetime) -> dict[str, Any]:
    import msgspec

    return {**msgspec.structs.asdict(one), "note": note(one, takers, now)}


def note(one: Schedule, takers: Sequence[WorkerInfo], now: datetime) -> str | None:
    """What a person should know of it: what keeps its jobs from running, or who has stopped it."""
    from penstock.observe.doctor import OVERDUE_SECONDS

    if one.problem is not None:
        return one.problem
    if one.status in ("paused", "removed"):
        return f"by {one.changed_by}"
    if one.next_at is not None and (now - one.next_at).total_seconds() > OVERDUE_SECONDS:
        why = "not fired" if takers else "no worker leads"
        return f"overdue since {moment(one.next_at)}: {why}, see penstock doctor"
    if one.status == "active" and not any(taker.types is None or one.type in taker.types for taker in takers):
        return f"no live worker takes {one.type!r}: its jobs wait"
    return None


def due_text(one: Schedule) -> str:
    """`0 3 * * * Europe/Berlin, next in 5h`, for a sentence."""
    zone = f" {one.timezone}" if one.cron is not None else ""
    due = "it never comes again" if one.next_at is None else f"next {age(one.next_at)}, at {moment(one.next_at)}"
    return f"{when_text(one)}{zone}, {due if one.status in ('active', 'finished') else one.status}"


def when_text(one: Schedule) -> str:
    return one.cron or (f"every {format_duration(one.every)}" if one.every is not None else "?")


def _show(found: list[Schedule], takers: Sequence[WorkerInfo], now: datetime, address: str) -> None:
    if not found:
        show(f"no schedules in {address}; declare one with app.schedule(…), or use: penstock schedules add")
        return
    rows = [_row(one, takers, now) for one in found]
    show(fitted_table(rows, SPARE), f"{plural(len(found), 'schedule')} in {address}")


def _row(one: Schedule, takers: Sequence[WorkerInfo], now: datetime) -> dict[str, Text]:
    from rich.text import Text

    fires = f"{one.fires:,}" + (f"/{one.limit:,}" if one.limit is not None else "")
    return {
        "name": text(one.name),
        "when": text(when_text(one)),
        "zone": text(one.timezone if one.cron else "-"),
        "type": text(one.type),
        "next": text(age(one.next_at) or "-"),
        "last": text(age(one.last_at) or "-"),
        "fires": text(fires),
        "status": Text(one.status, style=STATUS_STYLES.get(one.status, "")),
        "note": text(note(one, takers, now) or "-", NOTE_CHARS_MAX),
    }
