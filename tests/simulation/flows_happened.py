"""What must have happened to workflows somewhere in the seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.checker.events import WorkflowAsked
from tests.checker.history import History
from tests.checker.truth import Truth


def _ended(state: str) -> Callable[[History, Truth], int]:
    return lambda history, truth: sum(one.state == state for one in truth.workflows)


def _followed(history: History) -> Iterator[WorkflowAsked]:
    for finish in history.of("finish"):
        for one in finish.asked.workflows:
            yield one.workflow


def _made_by_a_handler(history: History, truth: Truth) -> int:
    stored = {one.id for one in truth.workflows}
    return len({one.id for one in _followed(history)} & stored)


def _compensated(history: History, truth: Truth) -> int:
    plans = [one.asked.workflow for one in history.of("enqueue_workflow")]
    undoing = {plan.compensate.id for plan in plans if plan.compensate is not None}
    return sum(job.id in undoing for job in truth.jobs)


WORKFLOWS_SOMETIMES: dict[str, Callable[[History, Truth], int]] = {
    "a workflow completed": _ended("completed"),
    "a workflow failed": _ended("failed"),
    "a workflow was cancelled": _ended("cancelled"),
    "a workflow was compensated": _compensated,
    "a workflow was retried": lambda history, truth: sum(one.ok for one in history.of("retry_workflow")),
    "a workflow was stored before": lambda history, truth: sum(
        one.ok and not one.told.created for one in history.of("enqueue_workflow")
    ),
    "a handler made a workflow": _made_by_a_handler,
    "a leader settled a workflow": lambda history, truth: sum(one.ok and one.told.jobs for one in history.of("settle")),
}
