"""`penstock dead show`: everything about one dead letter."""

from __future__ import annotations

from penstock.cli.input.options import AsJson, JobId, StoreUrl
from penstock.cli.input.storage import existing_store, read_job
from penstock.cli.jobs.show import print_job
from penstock.cli.running.guard import guarded
from penstock.domain.errors import UnknownJob


@guarded
def show_dead(job_id: JobId, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Show everything about one dead letter: payload, error with its stack, attempts, history.

    \b
    penstock dead show 0198c0de-0000-7000-8000-000000000000
    """
    from penstock.domain.job import DEAD_LETTERS

    with existing_store(store) as opened:
        job = read_job(opened, job_id)
        if job.state not in DEAD_LETTERS:
            raise UnknownJob(f"job {job.id} is {job.state}, not a dead letter; see: penstock jobs show {job.id}")
        print_job(opened, job, as_json)
