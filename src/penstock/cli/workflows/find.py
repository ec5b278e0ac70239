"""The workflow that an id names. Who gives another id is told what that is, or where to find the right one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.domain.errors import ConfigError, UnknownWorkflow
from penstock.domain.ids import check_id

if TYPE_CHECKING:
    from penstock.domain.job import Job
    from penstock.domain.workflows import WorkflowInfo
    from penstock.store.contract import Store

EXAMPLE = "0198c0de-0000-8000-8000-000000000000"


def read_workflow(store: Store, workflow: str) -> WorkflowInfo:
    """The workflow, or an error that says that there is none."""
    from penstock.domain.workflows import is_workflow

    id_ = check_workflow_id(workflow)
    found = store.read_workflow(id_).wait()
    if found is not None:
        return found
    if is_workflow(id_):
        raise UnknownWorkflow(f"no workflow has the id {id_} in {store.address}; retention may have removed it")
    raise UnknownWorkflow(
        f"{id_} is not the id of a workflow (the digit after its second hyphen would be an 8); "
        f"if it is that of a job: penstock jobs show {id_}"
    )


def read_compensation(store: Store, found: WorkflowInfo) -> Job | None:
    """The job that was enqueued because the workflow has failed, if it has one: it is newer than all of its steps, and
    the only one that was made when it ended.
    """
    from penstock.domain.workflows import WorkflowState
    from penstock.store.contract import ListJobs

    if found.state is not WorkflowState.FAILED or found.ended_at is None:
        return None
    newest = store.list_jobs(ListJobs(parent=found.id, limit=1)).wait()
    return next((job for job in newest if job.created_at >= found.ended_at), None)


def check_workflow_id(workflow: str) -> str:
    """The id in its one spelling, or an error that says how those of workflows look."""
    try:
        return check_id(workflow)
    except ConfigError:
        raise ConfigError(
            f"{workflow!r} is not the id of a workflow: those look like {EXAMPLE}; to find it: penstock workflows list"
        ) from None
