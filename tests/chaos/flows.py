"""Workflows of a run, held against their plans once all is quiet. In which order steps began is for the checker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

from penstock.domain.job import FINAL, State
from penstock.domain.workflows import WorkflowInfo, WorkflowState
from tests.chaos.actors import Broken
from tests.chaos.load import Plan
from tests.chaos.truth import Truth


def check_flows(truth: Truth, plans: dict[str, Plan], flows: Iterable[Plan]) -> None:
    """Every workflow is there once and has ended as planned, and so has each of its jobs."""
    for plan in flows:
        found = [one for one in truth.workflows if plan.id in (one.id, one.parent)]
        if _disturbed(truth, plans, plan):
            _check_ended(truth, plan, found)
        elif len(found) != 1:
            raise Broken(f"{plan.type} {plan.id} was enqueued, and {len(found)} workflows of it are stored")
        else:
            _check_as_planned(truth, plan, found[0])
        if plan.type == "workflow" and plan.ordered != (plan.id in truth.orders):
            raise Broken(f"workflow {plan.id} and its order were one transaction, and only one of them is stored")


def _disturbed(truth: Truth, plans: dict[str, Plan], plan: Plan) -> bool:
    """Whether the fault itself has cancelled or deleted a job of it, or the one that makes it; or its attempts, which
    should have been enough, were used up.
    """
    assert plan.flow is not None
    for part in [*plan.flow.jobs, *([plan] if plan.type == "maker" else ())]:
        known, job = plans.get(part.id), truth.jobs.get(part.id)
        if known is None or known.ending != part.ending:
            return True
        if part.ending == "completed" and job is not None and job.state is State.DEAD:
            return True
    return False


def _check_ended(truth: Truth, plan: Plan, found: list[WorkflowInfo]) -> None:
    assert plan.flow is not None
    if any(one.state is WorkflowState.RUNNING for one in found):
        raise Broken(f"{plan.type} {plan.id} never came to an end")
    for part in plan.flow.jobs:
        job = truth.jobs.get(part.id)
        if job is not None and job.state not in FINAL:
            raise Broken(f"{job.type} {job.id} of {plan.type} {plan.id} is {job.state}")


def _check_as_planned(truth: Truth, plan: Plan, found: WorkflowInfo) -> None:
    assert plan.flow is not None

    def wrong(what: str) -> NoReturn:
        raise Broken(f"{plan.type} {plan.id} {what}")

    if found.state != plan.flow.ending:
        wrong(f"is {found.state}, not {plan.flow.ending}")
    for part in plan.flow.jobs:
        job = truth.jobs.get(part.id)
        state = "never" if job is None else str(job.state)
        if state != part.ending:
            wrong(f"has the job {part.type} {part.id}, which is {state}, not {part.ending}")
        if job is not None and job.parent != found.id:
            wrong(f"has the job {part.id}, whose parent is {job.parent}")
