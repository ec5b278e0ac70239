"""`penstock dead retry`: makes new jobs of dead letters, by id or by filter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.cli.dead.filter import PAGE, All, DeadFlags, Ids, check_choice, confirm, freeze
from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.options import AsJson, Force, StoreUrl, Yes
from penstock.cli.input.storage import existing_store
from penstock.cli.output.bars import progress_bar
from penstock.cli.output.say import say
from penstock.cli.output.tables import plural, print_json, show, table
from penstock.cli.running.guard import guarded

if TYPE_CHECKING:
    from penstock.store.contract import DeadFilter, Store

Pairs = list[tuple[str, str]]
LOOKED_AT_MAX = 100


@guarded
@with_flags
def retry_dead(
    ids: Ids = None,
    *,
    which: DeadFlags,
    everything: All = False,
    force: Force = False,
    yes: Yes = False,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Retry dead letters: each becomes a new job with fresh attempts, linked to the old one.

    \b
    penstock dead retry 0198c0de-0000-7000-8000-000000000000
    penstock dead retry --type charge_card --error Timeout
    penstock dead retry --all --yes
    """
    filter = which.filter(retried=force)
    named = check_choice(ids or [], filter, everything, "retry")
    with existing_store(store) as opened:
        frozen, total = (filter, len(named)) if named else freeze(opened, filter)
        if total > 1 or (total and not named):
            confirm(f"Retry {plural(total, 'dead letter')} in {opened.info.address}?", yes)
        chosen = named or (list(_all_ids(opened, frozen)) if force else [])
        pairs = retry_ids(opened, chosen, force) if chosen else _retry_matching(opened, frozen, total)
        print_retried(opened, pairs, as_json)


def retry_ids(store: Store, ids: list[str], force: bool) -> Pairs:
    """Retry these, a page in each transaction; a page with one that cannot be retried changes nothing."""
    from penstock.store.contract import DeadFilter

    pairs: Pairs = []
    for start in range(0, len(ids), PAGE):
        page = tuple(ids[start : start + PAGE])
        with _telling(pairs):
            pairs += _retry_page(store, DeadFilter(ids=page), len(page), force)
    return pairs


def _retry_matching(store: Store, filter: DeadFilter, total: int) -> Pairs:
    """Retry what matches, in pages. What was retried leaves the filter, so that the next page is new."""
    pairs: Pairs = []
    with progress_bar("retrying", total) as bar:
        while len(pairs) < total:
            with _telling(pairs):
                page = _retry_page(store, filter, min(PAGE, total - len(pairs)))
            if not page:
                break
            pairs += page
            bar.update(bar.task_ids[0], completed=len(pairs))
    return pairs


def _retry_page(store: Store, filter: DeadFilter, count: int, force: bool = False) -> Sequence[tuple[str, str]]:
    from penstock.store.contract import RetryDead
    from penstock.system.clock import SystemClock
    from penstock.system.ids import IdSource

    new_ids = IdSource(SystemClock()).next_ids(count)
    return store.retry_dead(RetryDead(filter=filter, new_ids=new_ids, force=force)).wait().pairs


def _all_ids(store: Store, filter: DeadFilter) -> Iterator[str]:
    """The ids of all that match: forced retries stay in the filter, so pages of it would never end."""
    from penstock.store.contract import ListDead

    offset = 0
    while page := store.list_dead(ListDead(filter=filter, limit=PAGE, offset=offset)).wait().jobs:
        yield from (job.id for job in page)
        offset += len(page)


@contextmanager
def _telling(pairs: Pairs) -> Iterator[None]:
    """An error in the middle of many says what was done before it."""
    try:
        yield
    except BaseException:
        if pairs:
            say(f"{len(pairs)} dead letters were retried before this failed", err=True)
        raise


def print_retried(store: Store, pairs: Pairs, as_json: bool) -> None:
    from penstock.domain.job import State

    for workflow in _failed_workflows(store, pairs):
        say(
            f"note: workflow {workflow} does not know of the new job, and has no results for it; to run it as a part "
            f"of that: penstock workflows retry {workflow}",
            err=True,
        )
    jobs = {new: store.read_job(new).wait() for _, new in pairs[:LOOKED_AT_MAX]}
    dead = [job for job in jobs.values() if job is not None and job.state is State.DEAD]
    if dead:
        many = f"{plural(len(dead), 'new job')} of the first {len(jobs)}" if len(jobs) > 1 else "the new job"
        say(f"note: {many} ended dead at once: {dead[0].reason}", err=True)
    if as_json:
        # Of those that were not looked at, and those that have run and are not kept, nothing is known.
        states = {new: job.state for new, job in jobs.items() if job is not None}
        retried = [{"id": old, "new_id": new, "state": states.get(new)} for old, new in pairs]
        print_json({"retried": retried, "count": len(pairs)})
        return
    if pairs:
        made = table("id", "new id")
        for old, new in pairs:
            made.add_row(old, new)
        show(made)
    show(f"{plural(len(pairs), 'dead letter')} retried")


def _failed_workflows(store: Store, pairs: Pairs) -> list[str]:
    """Those that the first of the dead letters belong to, and that could be retried as a whole."""
    from penstock.domain.workflows import WorkflowState, is_workflow

    jobs = [store.read_job(old).wait() for old, _ in pairs[:LOOKED_AT_MAX]]
    parents = {job.parent for job in jobs if job is not None and job.parent is not None and is_workflow(job.parent)}
    found = [store.read_workflow(parent).wait() for parent in sorted(parents)]
    return [one.id for one in found if one is not None and one.state in (WorkflowState.FAILED, WorkflowState.CANCELLED)]
