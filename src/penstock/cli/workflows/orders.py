"""`penstock workflows cancel` and `retry`: the whole of one."""

from __future__ import annotations

import typer

from penstock.cli.input.options import AsJson, StoreUrl
from penstock.cli.input.storage import existing_store
from penstock.cli.output.say import say
from penstock.cli.output.tables import plural, print_json
from penstock.cli.running.guard import fail, guarded
from penstock.cli.workflows.find import read_workflow
from penstock.cli.workflows.show import WorkflowId

PAGE = 500


@guarded
def cancel_workflow(workflow_id: WorkflowId, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Cancel a whole workflow: no step begins any more, what waits is cancelled, what runs is asked to stop.

    \b
    penstock workflows cancel 0198c0de-0000-8000-8000-000000000000
    """
    from penstock.domain.workflows import WorkflowState
    from penstock.store.contract import CancelWorkflow

    with existing_store(store) as opened:
        found = read_workflow(opened, workflow_id)
        if found.state is not WorkflowState.RUNNING:
            fail(f"workflow {found.id} is {found.state} already: there is nothing to cancel")
        jobs, after = 0, ""
        with typer.progressbar(length=found.size - found.ended, label="cancelling", hidden=as_json) as bar:
            while True:
                told = opened.cancel_workflow(
                    CancelWorkflow(id=found.id, actor="operator", after=after, limit=PAGE)
                ).wait()
                jobs += told.jobs
                bar.update(told.jobs)
                if told.after is None:
                    break
                after = told.after
        state = read_workflow(opened, found.id).state
    if as_json:
        print_json({"id": found.id, "before": told.before, "after": state, "jobs": jobs})
    elif state is WorkflowState.RUNNING:
        say(f"{plural(jobs, 'job')} cancelled or asked to stop; it ends when those that run have ended")
    else:
        say(f"{plural(jobs, 'job')} cancelled; the workflow is {state}")


@guarded
def retry_workflow(workflow_id: WorkflowId, as_json: AsJson = False, store: StoreUrl = None) -> None:
    """Run again what did not complete of a failed or cancelled workflow. What completed stays as it is.

    \b
    penstock workflows retry 0198c0de-0000-8000-8000-000000000000
    """
    from penstock.store.contract import RetryWorkflow
    from penstock.system.clock import SystemClock
    from penstock.system.ids import IdSource

    with existing_store(store) as opened:
        found = read_workflow(opened, workflow_id)
        ids = IdSource(SystemClock()).next_ids(found.size + 1)
        jobs = opened.retry_workflow(RetryWorkflow(id=found.id, new_ids=ids, actor="operator")).wait().jobs
    if as_json:
        print_json({"id": found.id, "jobs": jobs})
    else:
        say(f"{plural(jobs, 'job')} to run; follow it: penstock workflows show {found.id}")
