"""The command itself: what was asked for, and whether it is shown once or goes on."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.moments import parse_patience
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.running.guard import guarded
from penstock.domain.errors import UsageError

if TYPE_CHECKING:
    from penstock.cli.top.view import View

INTERVAL = "2s"


class GroupBy(StrEnum):
    TYPE = "type"
    QUEUE = "queue"
    TENANT = "tenant"
    WORKER = "worker"


class SortBy(StrEnum):
    WAITING = "waiting"
    RATE = "rate"
    FAILED = "failed"
    OLDEST = "oldest"
    WAIT = "wait"
    RUN = "run"
    SLOTS = "slots"
    JOBS = "jobs"
    SILENT = "silent"
    NAME = "name"


@guarded
def top(
    by: Annotated[GroupBy, typer.Option("--by", help="What a row is.")] = GroupBy.TYPE,
    sort: Annotated[
        SortBy | None, typer.Option("--sort", help="What comes first: the most of this.", show_default=False)
    ] = None,
    interval: Annotated[str, typer.Option("--interval", metavar="D", help="How often to look.")] = INTERVAL,
    once: Annotated[bool, typer.Option("--once", help="Show it once and end.")] = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Show what goes on right now, by type, queue, tenant or worker.

    How many jobs complete and fail in a second, how many wait and for how long, how long they take, which slots are in
    use, and who floods a queue and whom that delays. Rates are those of the last minute or two. On a terminal it goes
    on until q or Ctrl-C; the keys are shown by ?.

    It reads what is counted anyway, and never for more than a tenth of the time.

    \b
    penstock top --store sqlite:///jobs.db
    penstock top --by queue --sort oldest
    penstock top --once
    penstock top --by tenant --json
    """
    seconds = parse_patience(interval, "--interval")
    view = _view(by, sort)
    from penstock.cli.top.screen import is_live

    if once or as_json or not is_live():
        _show_once(store, view, as_json)
        return
    from penstock.cli.top.live import run

    run(store, view, seconds)


def _view(by: GroupBy, sort: SortBy | None) -> View:
    from penstock.cli.top.view import View
    from penstock.observe.top.order import sorts_of

    known = sorts_of(by.value)
    if sort is not None and sort.value not in known:
        raise UsageError(f"--sort {sort.value} is not known of a {by.value}: one of {', '.join(known)}")
    return View(by=by.value, sort=known[0] if sort is None else sort.value)


def _show_once(store: str | None, view: View, as_json: bool) -> None:
    from penstock.cli.output.tables import print_json, show
    from penstock.cli.top.screen import document, printed
    from penstock.observe.top.look import look

    with existing_store(store) as opened:
        found, address = look(opened), opened.info.address
    if as_json:
        print_json(document(found, view, address))
    else:
        show(*printed(found, view, address))
