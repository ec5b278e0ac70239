"""`penstock jobs list`: a page of jobs, newest first."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.complete import states
from penstock.cli.input.filters import FilterFlags
from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.tables import age, plural, print_json, show, state_text, table, text
from penstock.cli.running.guard import guarded
from penstock.domain.errors import ConfigError
from penstock.domain.ids import check_id

if TYPE_CHECKING:
    from penstock.domain.job import Job, Progress, State
    from penstock.store.contract import ListJobs

LIMIT_MAX = 10_000


class Sort(StrEnum):
    CREATED = "created"
    FINISHED = "finished"


@guarded
@with_flags
def list_jobs(
    *,
    state: Annotated[
        str | None,
        typer.Option(
            "--state",
            metavar="A,B",
            help="pending, scheduled, running, completed, dead, cancelled, …",
            autocompletion=states,
        ),
    ] = None,
    which: FilterFlags,
    parent: Annotated[
        str | None,
        typer.Option("--parent", metavar="ID", help="Only jobs of this job or workflow."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", metavar="KEY", help="Only jobs with this key of a limit, or that hold it as unique key."),
    ] = None,
    sort: Annotated[
        Sort, typer.Option("--sort", help="The newest first, or of those that ended the last to end.")
    ] = Sort.CREATED,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, max=LIMIT_MAX, help="Jobs a page.")] = 20,
    before: Annotated[
        str | None, typer.Option("--before", metavar="ID", help="The next page: the last id of the one before.")
    ] = None,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """List jobs, newest first; or the last that ended.

    \b
    penstock jobs list --store sqlite:///jobs.db
    penstock jobs list --state running,pending --type send_email
    penstock jobs list --state failed --json
    penstock jobs list --tenant acme/eu --tag import
    penstock jobs list --key store:5 --state blocked
    penstock jobs list --sort finished --state dead,completed
    """
    from penstock.store.contract import ListJobs

    if key == "":
        raise ConfigError("--key is empty: no job has such a key; give one as jobs show prints it, such as store:5")
    wanted = ListJobs(
        states=_states(state, sort),
        key=key,
        sort=sort.value,
        **which.matching(),
        parent=None if parent is None else check_id(parent),
        before=None if before is None else check_id(before),
        limit=limit + 1,
    )
    with existing_store(store) as opened:
        found = opened.list_jobs(wanted).wait()
        address = opened.info.address
    page, more = found[:limit], len(found) > limit
    if as_json:
        print_json({"jobs": page, "next": page[-1].id if more else None, "store": address})
    else:
        _show(page, more, address, _told(wanted))


def _states(words: str | None, sort: Sort) -> frozenset[State] | None:
    from penstock.domain.job import FINAL, states_named

    if words is None:
        return None
    found: frozenset[State] = frozenset().union(*(states_named(word.strip().lower()) for word in words.split(",")))
    if sort is Sort.FINISHED and not found & FINAL:
        raise ConfigError(
            f"--sort finished lists jobs that have ended, and those of --state {words} have not: leave one of them out"
        )
    return found


def _told(wanted: ListJobs) -> str:
    """How far was looked, where that is not all."""
    from penstock.store.contract import LOOKED_AT_MAX

    if wanted.key is not None:
        return f"of the {LOOKED_AT_MAX:,} newest with this key" if wanted.narrowed or wanted.states is not None else ""
    return f"of the {LOOKED_AT_MAX:,} last of each state" if wanted.narrowed and wanted.sort == "finished" else ""


def _show(page: list[Job], more: bool, address: str, told: str) -> None:
    made = table("id", "type", "state", "queue", "try", "created", "note")
    for job in page:
        made.add_row(
            job.id, job.type, state_text(job.state), job.queue, f"{job.attempt}/{job.max_attempts}",
            age(job.created_at), text(note(job), 100),
        )  # fmt: skip
    if page:
        show(made)
    next_page = f"older ones: --before {page[-1].id}" if more else ""
    show("; ".join(filter(None, [f"{plural(len(page), 'job')} in {address}", told, next_page])))


def note(job: Job) -> str:
    """The one thing that a person would want to know next."""
    from penstock.domain.job import FINAL, State

    if job.progress is not None and job.state not in FINAL:
        return said(job.progress)
    if job.error is not None and job.state is not State.COMPLETED:
        return f"{job.error.type}: {job.error.message}"
    if job.state is State.SCHEDULED:
        return f"due {age(job.due_at)}"
    return job.reason or ""


def said(progress: Progress) -> str:
    """Progress in a few words: the percentage and the phase, or, without both, what else the handler said."""
    import msgspec

    percent = "" if progress.percent is None else f"{progress.percent:g} %"
    words = f"{percent} {progress.phase or ''}".strip()
    return words or (msgspec.json.encode(progress.data).decode() if progress.data else "")
