"""Which dead letters a command means, and the care that acts on many of them need."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.filters import FilterFlags
from penstock.cli.input.moments import parse_moment
from penstock.cli.output.say import say
from penstock.cli.running.guard import fail
from penstock.domain.clock import to_us
from penstock.domain.errors import UsageError
from penstock.domain.ids import check_id
from penstock.program.codes import FAILED, WRONG_USE

if TYPE_CHECKING:
    from penstock.store.contract import DeadFilter, Store

PAGE = 500

Ids = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="These dead letters.", show_default=False)]
All = Annotated[bool, typer.Option("--all", help="All dead letters, without a filter.")]


@dataclass(frozen=True, kw_only=True)
class DeadFlags(FilterFlags):
    """And by how they ended."""

    error: Annotated[
        str | None, typer.Option("--error", metavar="TEXT", help="Only those whose error contains this.")
    ] = None
    before: Annotated[
        str | None,
        typer.Option("--before", metavar="TIME", help="Only those that ended before, such as 2030-01-31T12:00:00Z."),
    ] = None

    def filter(self, retried: bool) -> DeadFilter:
        from penstock.store.contract import DeadFilter

        before = None if self.before is None else to_us(parse_moment(self.before, "--before"), "--before")
        return DeadFilter(**self.matching(), error=self.error, before_us=before, retried=retried)


def check_choice(ids: Sequence[str], filter: DeadFilter, everything: bool, act: str) -> list[str]:
    """Ids, or a filter, or --all: never two of them, and never all by accident."""
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

    from penstock.store.contract import ListDead

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
