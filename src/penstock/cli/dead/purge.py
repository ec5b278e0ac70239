"""`penstock dead purge`: removes dead letters for good."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.dead.filter import PAGE, All, DeadFlags, Ids, check_choice, confirm, freeze
from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.options import AsJson, StoreUrl, Yes
from penstock.cli.input.storage import existing_store
from penstock.cli.output.bars import progress_bar
from penstock.cli.output.say import say
from penstock.cli.output.tables import plural, print_json
from penstock.cli.running.guard import guarded

if TYPE_CHECKING:
    from penstock.store.contract import DeadFilter, Store


@guarded
@with_flags
def purge_dead(
    ids: Ids = None,
    *,
    which: DeadFlags,
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
    filter = which.filter(retried)
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
    from penstock.store.contract import PurgeDead

    removed = 0
    with progress_bar("removing", total) as bar:
        for filter, limit in pages:
            gone = store.purge_dead(PurgeDead(filter=filter, limit=limit)).wait().jobs
            removed += gone
            bar.update(bar.task_ids[0], completed=removed)
            if gone == 0:
                break
    return removed


def _id_pages(ids: list[str]) -> Iterator[tuple[DeadFilter, int]]:
    from penstock.store.contract import DeadFilter

    for start in range(0, len(ids), PAGE):
        page = tuple(ids[start : start + PAGE])
        yield DeadFilter(ids=page, retried=True), len(page)


def _matching_pages(filter: DeadFilter, total: int) -> Iterator[tuple[DeadFilter, int]]:
    """Enough pages for all that was agreed to, and no more."""
    for done in range(0, total, PAGE):
        yield filter, min(PAGE, total - done)
