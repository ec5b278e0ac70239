"""`penstock dead list`: dead letters, newest first, 20 a page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.dead.filter import DeadFlags
from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.tables import age, plural, print_json, show, state_text, table, text
from penstock.cli.running.guard import guarded

if TYPE_CHECKING:
    from penstock.store.contract import DeadPage

PAGE_SIZE = 20


@guarded
@with_flags
def list_dead(
    *,
    page: Annotated[int, typer.Option("--page", min=1, max=1_000_000, metavar="N", help="Which page of 20.")] = 1,
    which: DeadFlags,
    retried: Annotated[bool, typer.Option("--retried", help="Also those that were retried before.")] = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """List dead letters, newest first, 20 a page.

    \b
    penstock dead list --store sqlite:///jobs.db
    penstock dead list --type charge_card --error Timeout --page 2
    penstock dead list --tenant acme --tag import
    penstock dead list --before 2030-01-31T12:00:00Z --json
    """
    from penstock.store.contract import ListDead

    filter = which.filter(retried)
    with existing_store(store) as opened:
        found = opened.list_dead(ListDead(filter=filter, limit=PAGE_SIZE, offset=(page - 1) * PAGE_SIZE)).wait()
        address = opened.info.address
    pages = max(1, -(-found.total // PAGE_SIZE))
    if as_json:
        print_json({"jobs": found.jobs, "page": page, "pages": pages, "total": found.total, "store": address})
    else:
        _show(found, page, pages, address)


def _show(found: DeadPage, page: int, pages: int, address: str) -> None:
    made = table("id", "type", "state", "queue", "tries", "ended", "error")
    for job in found.jobs:
        what = f"{job.error.type}: {job.error.message}" if job.error else job.reason or ""
        made.add_row(
            job.id, job.type, state_text(job.state), job.queue, str(job.attempt), age(job.finished_at), text(what, 100)
        )
    if found.jobs:
        show(made)
    show(f"page {page} of {pages}, {plural(found.total, 'dead letter')} in {address}")
