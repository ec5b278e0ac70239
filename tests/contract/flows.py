"""A workflow under test: how it is made, looked at and ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.domain.job import Event
from penstock.domain.workflows import OnFailure, StepInfo, WorkflowInfo, WorkflowState, workflow_id
from penstock.store import contract as p
from tests.contract.world import World

RUNNING, COMPLETED, FAILED, CANCELLED = WorkflowState


class Flow:
    """A workflow under test. Steps are given as (name, number of jobs, names of steps before)."""

    def __init__(
        self, world: World, *steps: tuple[Any, ...], compensate: bool = False, on_failure: OnFailure = "stop",
        **fields: Any,
    ) -> None:  # fmt: skip
        self.world = world
        self.id = workflow_id(world.new_id())
        self._on_failure = on_failure
        names = [step[0] for step in steps]
        self.new = p.NewWorkflow(
            id=self.id,
            name="flow",
            steps=tuple(self._step(names, *step) for step in steps),
            compensate=self._job("undo") if compensate else None,
            **fields,
        )

    def _step(self, names: list[str], name: str, size: int, after: Iterable[str] = ()) -> p.NewStep:
        places = {known: place for place, known in enumerate(names)}
        jobs = tuple(self._job(name) for _ in range(size))
        return p.NewStep(name, jobs, tuple(places[one] for one in after), self._on_failure)

    def _job(self, type: str, **options: Any) -> p.NewJob:
        return self.world.new_job(type=type, parent=self.id, **options)

    def enqueue(self) -> Flow:
        assert self.world.store.enqueue_workflow(p.EnqueueWorkflow(self.new)).wait().created is True
        return self

    def ids(self, step: str) -> list[str]:
        (found,) = [one for one in self.new.steps if one.name == step]
        return [job.id for job in found.jobs]

    def read(self) -> WorkflowInfo:
        found = self.world.store.read_workflow(self.id).wait()
        assert found is not None
        return found

    @property
    def state(self) -> WorkflowState:
        return self.read().state

    def step(self, name: str) -> StepInfo:
        (found,) = [step for step in self.read().steps if step.name == name]
        return found

    def cancel(self, limit: int = 500) -> int:
        """Page by page; answers of how many jobs it heard."""
        jobs, after = 0, ""
        while True:
            told = self.world.store.cancel_workflow(p.CancelWorkflow(id=self.id, after=after, limit=limit)).wait()
            jobs += told.jobs
            if told.after is None:
                return jobs
            after = told.after

    def retry(self) -> int:
        ids = [self.world.new_id() for _ in range(self.read().size + 1)]
        return self.world.store.retry_workflow(p.RetryWorkflow(id=self.id, new_ids=ids)).wait().jobs

    def settle(self) -> int:
        return self.world.store.settle_workflows(p.SettleWorkflows()).wait().jobs

    def results(self, step: str, bytes_max: int = 1000) -> list[str | None]:
        found = self.world.store.read_results(p.ReadResults(self.id, step, bytes_max)).wait()
        return [one.result for one in found]


def types(claims: Iterable[p.Claim]) -> list[str]:
    return [claim.type for claim in claims]


def complete(world: World, *claims: p.Claim, result: str | None = None, history: p.History = "default") -> list[int]:
    completed = [p.Completed(claim.token, world.clock.now_us(), result, member=claim.id) for claim in claims]
    return world.store.finish_jobs(p.FinishJobs(completed, history=history)).wait().lost


def end(world: World, claim: p.Claim, event: Event = Event.FAIL, **fields: Any) -> list[int]:
    return world.end(claim, event, member=claim.id, **fields)
