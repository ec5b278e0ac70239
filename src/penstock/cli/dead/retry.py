"""`penstock dead retry`: makes new jobs of dead letters, by id or by filter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.cli.dead.filter import PAGE, All, Ids
from penstock.cli.guard import guarded
from penstock.cli.options import (
    AsJson,
    BeforeFilter,
    ErrorFilter,
    Force,
    QueueFilter,
    StoreUrl,
    TagFilter,
    TenantFilter,
    TypeFilter,
    Yes,
)
from penstock.cli.say import say

if TYPE_CHECKING:
    from penstock.domain.job import Job, State
    from penstock.store.contract import Store
    from penstock.store.params import DeadFilter

Pairs = list[tuple[str, str]]
LOOKED_AT_MAX = 100


@guarded
def retry_dead(
    ids: Ids = None,
    type: TypeFilter = None,
    queue: QueueFilter = None,
    tenant: TenantFilter = None,
    tag: TagFilter = None,
    error: ErrorFilter = None,
    before: BeforeFilter = None,
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
    from penstock.cli.dead.filter import check_choice, confirm, freeze, make_filter
    from penstock.cli.output import plural
    from penstock.cli.storage import existing_store

    filter = make_filter(type, queue, tenant, tag, error, before, retried=force)
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
    from penstock.store.params import DeadFilter, RetryDead

    pairs: Pairs = []
    for start in range(0, len(ids), PAGE):
        page = tuple(ids[start : start + PAGE])
        with _telling(pairs):
            pairs += store.retry_dead(
                RetryDead(filter=DeadFilter(ids=page), new_ids=_new_ids(len(page)), force=force)
            ).wait()
    return pairs


def _retry_matching(store: Store, filter: DeadFilter, total: int) -> Pairs:
    """Retry what matches, in pages. What was retried leaves the filter, so that the next page is new."""
    from penstock.cli.dead.filter import progress_bar
    from penstock.store.params import RetryDead

    pairs: Pairs = []
    with progress_bar("retrying", total) as bar:
        while len(pairs) < total:
            with _telling(pairs):
                page = store.retry_dead(
                    RetryDead(filter=filter, new_ids=_new_ids(min(PAGE, total - len(pairs))))
                ).wait()
            if not page:
                break
            pairs += page
            bar.update(bar.task_ids[0], completed=len(pairs))
    return pairs


def _all_ids(store: Store, filter: DeadFilter) -> Iterator[str]:
    """The ids of all that match: forced retries stay in the filter, so pages of it would never end."""
    from penstock.store.params import ListDead

    offset = 0
    while page := store.list_dead(ListDead(filter=filter, limit=PAGE, offset=offset)).wait().jobs:
        yield from (job.id for job in page)
        offset += len(page)


def _new_ids(count: int) -> list[str]:
    from penstock.domain.clock import SystemClock
    from penstock.domain.ids import IdSource

    source = IdSource(SystemClock())
    return [source.next_id() for _ in range(count)]


class _telling:  # noqa: N801 — reads as a verb: with _telling(pairs)
    """An error in the middle of many says what was done before it."""

    def __init__(self, pairs: Pairs) -> None:
        self._pairs = pairs

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._pairs:
            say(f"{len(self._pairs)} dead letters were retried before this failed", err=True)


def print_retried(store: Store, pairs: Pairs, as_json: bool) -> None:
    from penstock.cli.output import plural, print_json, show, table
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
        retried = [{"id": old, "new_id": new, "state": _state(jobs.get(new))} for old, new in pairs]
        print_json({"retried": retried, "count": len(pairs)})
        return
    if pairs:
        made = table("id", "new id")
        for old, new in pairs:
            made.add_row(old, new)
        show(made)
    show(f"{plural(len(pairs), 'dead letter')} retried")


def _state(job: Job | None) -> State | None:
    """Of those that were not looked at, and those that have run and are not kept, nothing is known."""
    return None if job is None else job.state


def _failed_workflows(store: Store, pairs: Pairs) -> list[str]:
    """Those that the first of the dead letters belong to, and that could be retried as a whole."""
    from penstock.domain.workflows import WorkflowState, is_workflow

    jobs = [store.read_job(old).wait() for old, _ in pairs[:LOOKED_AT_MAX]]
    parents = {job.parent for job in jobs if job is not None and job.parent is not None and is_workflow(job.parent)}
    found = [store.read_workflow(parent).wait() for parent in sorted(parents)]
    return [one.id for one in found if one is not None and one.state in (WorkflowState.FAILED, WorkflowState.CANCELLED)]
