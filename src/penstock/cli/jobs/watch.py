"""`penstock jobs watch`: follows one job to its end. It only looks: leaving it changes nothing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from penstock.cli.input.options import AsJson, JobId, StoreUrl
from penstock.cli.input.storage import existing_store, read_job
from penstock.cli.jobs.list import said
from penstock.cli.output.say import say
from penstock.cli.output.tables import clean, console, one_line, print_json
from penstock.cli.running.guard import fail, guarded
from penstock.program.codes import FAILED

if TYPE_CHECKING:
    from penstock.domain.job import Job
    from penstock.store.contract import Store

TYPE_CHARS_MAX = 40
SAID_CHARS_MAX = 40
LOOK_SECONDS = 0.05
# What time alone changes (a scheduled job becomes due) moves no counter, so look anyway now and then.
LOOK_ANYWAY_SECONDS = 1.0
LOOK_UNCOUNTED_SECONDS = 0.25


@guarded
def watch_job(job_id: JobId, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Follow a job until it ends. Exit code 0 if it completed, 1 otherwise. Ctrl-C leaves the job alone.

    \b
    penstock jobs watch 0198c0de-0000-7000-8000-000000000000
    """
    from penstock.domain.job import State

    with existing_store(store) as opened:
        last = _follow(opened, read_job(opened, job_id), quiet=as_json)
        if as_json:
            print_json(last)
        else:
            _say_end(last)
    if last.state is not State.COMPLETED:
        raise typer.Exit(FAILED)


def _follow(store: Store, job: Job, quiet: bool) -> Job:
    out = console()
    if out.is_terminal and not quiet:
        return _follow_with_bar(store, job)
    said = ""
    for job in _looks(store, job):  # noqa: B020 — the newest look is the answer
        line = f"{_state(job)} {_said(job)}".rstrip()
        if not quiet and line != said:
            say(line)
            said = line
    return job


def _follow_with_bar(store: Store, job: Job) -> Job:
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(),
               TextColumn("{task.fields[said]}", markup=False), TimeElapsedColumn())  # fmt: skip
    with Progress(*columns, console=console(), transient=True) as bar:
        task = bar.add_task(job.type, total=None, said="")
        for job in _looks(store, job):  # noqa: B020 — the newest look is the answer
            percent = job.progress.percent if job.progress else None
            bar.tasks[0].total = None if percent is None else 100  # update() cannot take it back to None.
            bar.update(task, description=_state(job), completed=percent or 0, said=_said(job, SAID_CHARS_MAX))
    return job


def _looks(store: Store, job: Job) -> Iterator[Job]:
    """The job now and whenever it may have changed, up to its end."""
    from penstock.domain.job import FINAL

    yield job
    seen: int | None = -1
    looked = 0.0
    while job.state not in FINAL:
        version = store.version()
        patience = LOOK_ANYWAY_SECONDS if version is not None else LOOK_UNCOUNTED_SECONDS
        if version != seen or time.monotonic() - looked >= patience:
            seen, looked = version, time.monotonic()
            found = store.read_job(job.id).wait()
            if found is None:
                fail(f"job {job.id} is no longer stored: it has ended and its type does not keep outcomes")
            job = found
            yield job
        else:
            time.sleep(LOOK_SECONDS)


def _state(job: Job) -> str:
    tries = f" (attempt {job.attempt} of {job.max_attempts})" if job.attempt else ""
    return f"{one_line(job.type, TYPE_CHARS_MAX)} {job.state}{tries}"


def _said(job: Job, chars_max: int | None = None) -> str:
    return clean(one_line(said(job.progress), chars_max)) if job.progress else ""


def _say_end(job: Job) -> None:
    import msgspec

    from penstock.domain.job import State

    if job.state is State.COMPLETED:
        say(f"completed: {clean(msgspec.json.encode(job.result).decode())}")
        return
    why = [job.reason or ""]
    if job.error is not None and job.error.message not in why:
        why.append(f"{job.error.type}: {job.error.message}")
    told = clean(one_line("; ".join(filter(None, why)))) or "-"
    say(f"{job.state}: {told}; see: penstock jobs show {job.id}")
