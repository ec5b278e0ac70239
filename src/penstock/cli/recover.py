"""`penstock recover`: takes back the jobs of workers that were silent for too long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.say import say
from penstock.cli.output.tables import plural, print_json
from penstock.cli.running.guard import guarded
from penstock.domain.duration import format_duration, parse_duration

if TYPE_CHECKING:
    from penstock.store.contract import Store

THRESHOLD = "10m"


@guarded
def recover(
    threshold: Annotated[
        str, typer.Option("--threshold", metavar="DURATION", help="How long a worker must have been silent.")
    ] = THRESHOLD,
    as_json: AsJson = False,
    store: StoreUrl = None,
) -> None:
    """Take back the jobs of workers that were silent for too long, and print their ids.

    Workers do this by themselves, every few seconds, while one of them is alive; this is for when none is. The jobs go
    through their retry policy with the attempt spent. No worker is judged by less patience than its own three missed
    heartbeats.

    How long a worker was silent is told by the store's clock alone, since the command acts at once: if that clock was
    just set forward, living workers look silent. A leader, which watches them, is not misled by it.

    \b
    penstock recover --store sqlite:///jobs.db
    penstock recover --threshold 1m --json
    """
    seconds = parse_duration(threshold, "--threshold")
    with existing_store(store) as opened:
        workers, jobs = _recover(opened, seconds)
    if as_json:
        print_json({"recovered": len(jobs), "jobs": jobs, "workers": workers})
        return
    for job in jobs:
        say(job)
    if workers:
        said = f"{plural(len(jobs), 'job')} of {plural(len(workers), 'lost worker')} recovered: {', '.join(workers)}"
    else:
        said = f"nothing to recover: no worker that holds jobs was silent for {format_duration(seconds)}"
    say(said, err=True)


def _recover(store: Store, seconds: float) -> tuple[list[str], list[str]]:
    from penstock.store.contract import RecoverJobs

    workers: list[str] = []
    jobs: list[str] = []
    more = True
    while more:
        found = store.recover_jobs(RecoverJobs(seconds, actor="operator")).wait()
        workers += [worker for worker in found.workers if worker not in workers]
        jobs += found.jobs
        more = found.more
    return workers, jobs
