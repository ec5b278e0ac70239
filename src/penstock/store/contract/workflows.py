"""Workflows: making, advancing, following, cancelling and retrying them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from penstock.domain.job import State
from penstock.domain.workflows import OnFailure, WorkflowInfo, WorkflowState
from penstock.store.call import Call
from penstock.store.contract.happened import Changed, Happened
from penstock.store.contract.queue import NewJob


class NewStep(msgspec.Struct, frozen=True):
    """Jobs that are enqueued together, once all steps named by their numbers in `after` have ended. `many` says that
    they were given as several, also if it is one.
    """

    name: str
    jobs: tuple[NewJob, ...]
    after: tuple[int, ...] = ()
    on_failure: OnFailure = "stop"
    many: bool = False


class NewWorkflow(msgspec.Struct, frozen=True, kw_only=True):
    """A workflow to store. `id` was made by the caller, so that sending it twice makes one. `compensate` is enqueued
    when it has failed.
    """

    id: str
    name: str
    steps: tuple[NewStep, ...]
    compensate: NewJob | None = None
    parent: str | None = None


class EnqueueWorkflow(msgspec.Struct, frozen=True):
    workflow: NewWorkflow
    transaction: object | None = None


class WorkflowEnqueued(msgspec.Struct, frozen=True):
    """`created` is False if its id was stored already. `happened` to its first jobs, and to others on their way."""

    created: bool
    happened: Sequence[Happened] = ()


class ListWorkflows(msgspec.Struct, frozen=True, kw_only=True):
    """Workflows, newest first. `before` is the id of the last one of the page before, `parent` is
    the job that made them.
    """

    name: str | None = None
    parent: str | None = None
    states: frozenset[WorkflowState] | None = None
    before: str | None = None
    limit: int = 20


class CancelWorkflow(msgspec.Struct, frozen=True, kw_only=True):
    """A page of its jobs at a time: `after` is where the page before has ended."""

    id: str
    actor: str = "client"
    after: str = ""
    limit: int = 500


class WorkflowCancelled(msgspec.Struct, frozen=True):
    """The state in which it was found, how many jobs were cancelled or asked to stop, and where to go on, if
    there are more.
    """

    before: WorkflowState
    jobs: int
    after: str | None
    happened: Sequence[Happened] = ()


class RetryWorkflow(msgspec.Struct, frozen=True, kw_only=True):
    """Run again what did not complete. Each job that had been enqueued is replaced by one with a new id; the last of
    the new ids is for the job that compensates.
    """

    id: str
    new_ids: Sequence[str]
    actor: str = "client"


class StepResult(msgspec.Struct, frozen=True, array_like=True):
    """What became of one job of a step: its state, and its result if it completed. `many` is that of the step."""

    id: str
    type: str
    many: bool
    state: State | None
    result: str | None


class ReadResults(msgspec.Struct, frozen=True):
    """The results of a step's jobs, in the order in which they were given; no more than so many bytes in all."""

    workflow: str
    step: str
    bytes_max: int


class Workflows(Protocol):
    """Workflows: made, followed, cancelled and retried as a whole."""

    def enqueue_workflow(self, params: EnqueueWorkflow) -> Call[WorkflowEnqueued]:
        """Store a workflow, unless its id is stored already, and enqueue the jobs of the steps that come after none.

        The jobs of a step are enqueued in the transaction that ends the last job of those that it comes after: what
        they wait for counts from then. Until then they are planned: they read as blocked, and are in no queue.
        """
        ...

    def read_workflow(self, workflow_id: str) -> Call[WorkflowInfo | None]:
        """The workflow as it is now, or None if no such workflow is stored."""
        ...

    def list_workflows(self, params: ListWorkflows) -> Call[list[WorkflowInfo]]:
        """A page of workflows, newest first by id, without their steps."""
        ...

    def read_results(self, params: ReadResults) -> Call[list[StepResult]]:
        """What became of a step's jobs, in their order. More than the limit means PayloadTooLarge."""
        ...

    def cancel_workflow(self, params: CancelWorkflow) -> Call[WorkflowCancelled]:
        """Begin no more steps, cancel what waits and ask what runs to stop, a page of jobs a call.

        After the first call no step begins. An unknown id means UnknownWorkflow. Audited.
        """
        ...

    def retry_workflow(self, params: RetryWorkflow) -> Call[Changed]:
        """Run again what did not complete of a failed or cancelled workflow; answers how many jobs.

        What completed stays. Jobs that had been enqueued are replaced by new ones, linked to the old. Audited.
        """
        ...
