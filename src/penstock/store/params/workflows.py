"""Workflows: making, advancing, following, cancelling and retrying them."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.domain.job import State
from penstock.domain.workflows import OnFailure, WorkflowState
from penstock.store.params.jobs import NewJob


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


class SettleWorkflows(msgspec.Struct, frozen=True):
    """Take note of jobs that ended and did not say so to their workflow."""

    term: int | None = None
    limit: int = 1000
