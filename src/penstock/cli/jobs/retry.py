"""`penstock jobs retry`: makes a new job of a dead one."""

from __future__ import annotations

from penstock.cli.dead.retry import print_retried, retry_ids
from penstock.cli.input.options import AsJson, Force, JobId, StoreUrl
from penstock.cli.input.storage import existing_store, read_job
from penstock.cli.running.guard import fail, guarded


@guarded
def retry_job(job_id: JobId, force: Force = False, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Retry a dead job: a new job with fresh attempts, linked to the old one.

    \b
    penstock jobs retry 0198c0de-0000-7000-8000-000000000000
    """
    from penstock.domain.job import DEAD_LETTERS

    with existing_store(store) as opened:
        job = read_job(opened, job_id)
        if job.state not in DEAD_LETTERS:
            fail(f"job {job.id} is {job.state}: only dead and expired jobs are retried; enqueue a new one")
        print_retried(opened, retry_ids(opened, [job.id], force), as_json)
