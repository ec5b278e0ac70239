"""`penstock dead purge`: removes dead letters for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.dead.filter import PAGE, All, Ids
from penstock.cli.guard import guarded
from penstock.cli.options import (
    AsJson,
    BeforeFilter,
    ErrorFilter,
    QueueFilter,
    StoreUrl,
    TagFilter,
    TenantFilter,
    TypeFilter,
    Yes,
)
from penstock.cli.say import say

if TYPE_CHECKING:
    from penstock.store.contract import Store
    from penstock.store.params import DeadFilter


@guarded
def purge_dead(
    ids: Ids = None,
    type: TypeFilter = None,
    queue: QueueFilter = None,
    tenant: TenantFilter = None,
    tag: TagFilter = None,
    error: ErrorFilter = None,
    before: BeforeFilter = None,
    everything: All = False,
    retried: Annotated[bool, typer.Option("--retried", help="Also those that were retried before.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Remove dead letters for good. Asks first.

    \b
    penstock dead purge --before 2030-01-31T12:00:00Z
    penstock dead purge --type charge_card --yes
    penstock dead purge 0198c0de-0000-7000-8000-000000000000
    """
    from penstock.cli.dead.filter import check_choice, confirm, freeze, make_filter
    from penstock.cli.output import plural, print_json
    from penstock.cli.storage import existing_store

    filter = make_filter(type, queue, tenant, tag, error, before, retried)
    named = check_choice(ids or [], filter, everything, "purge")
    with existing_store(store) as opened:
        frozen, total = (filter, len(named)) if named else freeze(opened, filter)
        if total:
            confirm(f"Remove {plural(total, 'dead letter')} from {opened.info.address} for good?", yes)
        removed = _purge(opened, _id_pages(named) if named else _matching_pages(frozen, total), total)
    if as_json:
        print_json({"purged": removed})
    else:
        say(f"{plural(removed, 'dead letter')} removed")


def _purge(store: Store, pages: Iterator[tuple[DeadFilter, int]], total: int) -> int:
    """Remove page by page, so that workers are never kept waiting for long."""
    from penstock.cli.dead.filter import progress_bar
    from penstock.store.params import PurgeDead

    removed = 0
    with progress_bar("removing", total) as bar:
        for filter, limit in pages:
            gone = store.purge_dead(PurgeDead(filter=filter, limit=limit)).wait()
            removed += gone
            bar.update(bar.task_ids[0], completed=removed)
            if gone == 0:
                break
    return removed


def _id_pages(ids: list[str]) -> Iterator[tuple[DeadFilter, int]]:
    from penstock.store.params import DeadFilter

    for start in range(0, len(ids), PAGE):
        page = tuple(ids[start : start + PAGE])
        yield DeadFilter(ids=page, retried=True), len(page)


def _matching_pages(filter: DeadFilter, total: int) -> Iterator[tuple[DeadFilter, int]]:
    """Enough pages for all that was agreed to, and no more."""
    for done in range(0, total, PAGE):
        yield filter, min(PAGE, total - done)
