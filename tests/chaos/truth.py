"""What became of everything, read from the store once it is quiet, and held against what was planned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.domain.job import FINAL, Job, State
from penstock.domain.workflows import WorkflowInfo
from penstock.store.contract import ListJobs, ListWorkflows, SqlStore
from tests.chaos.actors import Broken
from tests.chaos.load import SCHEDULE, Plan
from tests.chaos.places import Place

ALL = 1_000_000


@dataclass(frozen=True)
class Truth:
    jobs: dict[str, Job]
    effects: list[tuple[str, int]]
    orders: set[str]
    workflows: list[WorkflowInfo]

    def of_type(self, *types: str) -> list[Job]:
        return [job for job in self.jobs.values() if job.type in types]


def read_truth(store: SqlStore, place: Place) -> Truth:
    jobs = {job.id: job for job in store.list_jobs(ListJobs(limit=ALL)).wait()}
    with store.transaction() as tx:
        effects: Any = tx.execute(f"SELECT job, token FROM {place.effects}")
        orders: Any = tx.execute(f"SELECT job FROM {place.orders}")
    workflows = store.list_workflows(ListWorkflows(limit=ALL)).wait()
    return Truth(jobs, list(effects), {job for (job,) in orders}, workflows)


def check_plans(truth: Truth, plans: dict[str, Plan]) -> None:
    """Every job that was planned, and no other, ended as planned. What effects it had is for the checker."""
    stray = {id for id in truth.jobs.keys() - plans.keys() if f"schedule:{SCHEDULE}" not in truth.jobs[id].tags}
    if stray:
        raise Broken(f"{len(stray)} jobs are stored that nobody enqueued, such as {min(stray)}")
    for plan in plans.values():
        if plan.of is not None:
            continue  # What becomes of the jobs of a workflow is for check_flows.
        job = truth.jobs.get(plan.id)
        if job is None:
            raise Broken(f"lost: {plan.type} {plan.id} was enqueued and is not stored")
        _check_ending(plan, job)
        if plan.ordered != (plan.id in truth.orders):
            raise Broken(f"{plan.type} {plan.id} and its order were one transaction, and only one of them is stored")


def lost(truth: Truth, plans: dict[str, Plan]) -> int:
    """How many jobs are missing, or never came to an end."""
    return sum(truth.jobs[id].state not in FINAL if id in truth.jobs else plan.of is None for id, plan in plans.items())


def _check_ending(plan: Plan, job: Job) -> None:
    used_up = job.state is State.DEAD and job.attempt == job.max_attempts
    if job.attempt > job.max_attempts:
        raise Broken(f"{job.type} {job.id} had {job.attempt} attempts, and {job.max_attempts} were allowed")
    if plan.ending not in ("any", job.state) and not used_up:
        raise Broken(f"{job.type} {job.id} is {job.state}, not {plan.ending}: {job.reason} {job.error}")
