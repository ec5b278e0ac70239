"""Which dead letters a command means, and the care that acts on many of them need."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.guard import FAILED, WRONG_USE, fail
from penstock.cli.say import say
from penstock.domain.errors import UsageError

if TYPE_CHECKING:
    from rich.progress import Progress

    from penstock.store.contract import Store
    from penstock.store.params import DeadFilter

PAGE = 500

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="These dead letters.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="All dead letters, without a filter.")]


def make_filter(
    type: str | None,
    queue: str | None,
    tenant: str | None,
    tag: str | None,
    error: str | None,
    before: str | None,
    retried: bool = False,
) -> DeadFilter:
    from penstock.cli.moments import parse_moment
    from penstock.cli.tenants import tenant_filter
    from penstock.domain.clock import to_us
    from penstock.store.params import DeadFilter

    before_us = None if before is None else to_us(parse_moment(before, "--before"), "--before")
    return DeadFilter(
        type=type, queue=queue, **tenant_filter(tenant), tag=tag, error=error, before_us=before_us, retried=retried
    )


def check_choice(ids: Sequence[str], filter: DeadFilter, everything: bool, act: str) -> list[str]:
    """Ids, or a filter, or --all: never two of them, and never all by accident."""
    from penstock.domain.ids import check_id

    filtered = any((filter.type, filter.queue, filter.tenant, filter.tag, filter.error, filter.before_us))
    given = [bool(ids), filtered, everything]
    if sum(given) > 1:
        raise UsageError("ids, filters and --all exclude each other: give one of them")
    if not any(given):
        raise UsageError(f"which dead letters? Give ids, a filter such as --type NAME, or --all to {act} every one")
    return list(dict.fromkeys(check_id(job_id) for job_id in ids))


def freeze(store: Store, filter: DeadFilter) -> tuple[DeadFilter, int]:
    """The filter narrowed to what is dead now, and how many that is: what dies later was not agreed to."""
    import msgspec

    from penstock.domain.clock import to_us
    from penstock.store.params import ListDead

    page = store.list_dead(ListDead(filter=filter, limit=1)).wait()
    if page.jobs and page.jobs[0].finished_at is not None:
        filter = msgspec.structs.replace(filter, before_us=to_us(page.jobs[0].finished_at) + 1)
    return filter, page.total


def confirm(question: str, yes: bool) -> None:
    """Ask before an act on many jobs. Without a person at a terminal, only --yes will do."""
    if yes:
        return
    if not sys.stdin.isatty():
        fail(f"{question} Nobody can be asked here (no terminal): add --yes to do it", WRONG_USE)
    if not typer.confirm(question, err=True):
        say("nothing was changed", err=True)
        raise typer.Exit(FAILED)


@contextmanager
def progress_bar(label: str, total: int | None) -> Iterator[Progress]:
    """A bar on the terminal, of which nobody knows the end if there is no total; stdout stays clean for the answer."""
    from rich.progress import Progress

    from penstock.cli.output import console

    out = console(stderr=True)
    with Progress(console=out, transient=True, disable=not out.is_terminal) as bar:
        bar.add_task(label, total=total)
        yield bar
