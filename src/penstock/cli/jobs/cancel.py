"""`penstock jobs cancel`: stops a job, as far as that is possible, and says how far that is."""

from __future__ import annotations

from penstock.cli.input.options import AsJson, JobId, StoreUrl
from penstock.cli.input.storage import existing_store, read_job
from penstock.cli.output.say import say
from penstock.cli.output.tables import print_json
from penstock.cli.running.guard import fail, guarded

RUNNING = (
    "it has begun, so it is asked to stop: an async handler is cancelled where it awaits; one in a process is killed; "
    "a plain one runs in a thread, sees ctx.cancelled and ends when it heeds that"
)


@guarded
def cancel_job(job_id: JobId, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Cancel a job. A waiting one ends at once.

    A running one is asked to stop: async handlers are cancelled, those in processes are killed, plain ones (in
    threads) see ctx.cancelled.

    \b
    penstock jobs cancel 0198c0de-0000-7000-8000-000000000000
    """
    from penstock.domain.job import FINAL, State
    from penstock.store.contract import CancelJob

    with existing_store(store) as opened:
        job = read_job(opened, job_id)
        if job.state in (State.CLAIMED, State.RUNNING) and not as_json:
            say(f"{job.type} is {job.state}: {RUNNING}")
        done = opened.cancel_job(CancelJob(job.id, actor="operator")).wait()
    asked = done.after not in FINAL
    if done.before in FINAL and done.before is not State.CANCELLED:
        fail(f"job {job.id} is {done.before} already: there is nothing to cancel")
    if as_json:
        print_json({"id": job.id, "before": done.before, "after": done.after, "asked_to_stop": asked})
    elif asked:
        say(f"asked to stop: penstock jobs watch {job.id}")
    else:
        say(f"{job.id} is cancelled" + ("" if done.before in FINAL else f" at once: it was {done.before}"))
