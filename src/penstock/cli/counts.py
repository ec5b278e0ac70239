"""`penstock counts`: how many jobs there are, by state."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.filters import FilterFlags
from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.tables import plural, print_json, show, state_text, table, text
from penstock.cli.running.guard import guarded

if TYPE_CHECKING:
    from penstock.store.contract import Count


NOBODY = "-"
"""Stands for the tenant of jobs without one."""


class By(StrEnum):
    STATE = "state"
    TYPE = "type"
    QUEUE = "queue"
    CAPABILITY = "capability"
    TENANT = "tenant"


@guarded
@with_flags
def counts(
    *,
    by: Annotated[By, typer.Option("--by", help="What to count by.")] = By.STATE,
    which: FilterFlags,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Count the jobs by state, type, queue, capability or tenant.

    \b
    penstock counts --store sqlite:///jobs.db
    penstock counts --by type --json
    penstock counts --by tenant
    penstock counts --by capability
    penstock counts --by queue --tenant acme --tag import
    """
    from penstock.store.contract import CountJobs

    matching = which.matching()
    wanted = CountJobs(
        **matching,
        by_tenant=by is By.TENANT,
        by_capability=by is By.CAPABILITY,
        by_route=by is not By.STATE or any(value is not None for value in matching.values()),
    )
    with existing_store(store) as opened:
        found = opened.count_jobs(wanted).wait()
        address = opened.info.address
    total = sum(count.jobs for count in found)
    if as_json:
        print_json({"by": by.value, "counts": _tally(found, by), "total": total, "store": address})
    else:
        _show(found, by, total, address)


def _tally(found: list[Count], by: By) -> dict[str, int] | dict[str, dict[str, int]]:
    return by_state(found) if by is By.STATE else _groups(found, by)


def by_state(found: list[Count]) -> dict[str, int]:
    """Every state, also those without jobs."""
    from penstock.domain.job import State

    tally = {state.value: 0 for state in State}
    for count in found:
        tally[count.state.value] += count.jobs
    return tally


def _groups(found: list[Count], by: By) -> dict[str, dict[str, int]]:
    groups: dict[str, list[Count]] = {}
    for count in found:
        groups.setdefault(getattr(count, by.value) or NOBODY, []).append(count)
    return {name: by_state(groups[name]) for name in sorted(groups)}


def _show(found: list[Count], by: By, total: int, address: str) -> None:
    if by is By.STATE:
        made = table("state", "jobs")
        made.columns[1].justify = "right"
        for state, jobs in by_state(found).items():
            made.add_row(state_text(state), f"{jobs:,}")
    else:
        used = [state for state, jobs in by_state(found).items() if jobs]
        made = table(by.value, *used)
        for column in made.columns[1:]:
            column.justify = "right"
        for name, states in _groups(found, by).items():
            made.add_row(text(name), *(f"{states[state]:,}" for state in used))
    show(made, f"{plural(total, 'job')} in {address}")
