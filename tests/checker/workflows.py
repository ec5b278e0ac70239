"""What a history and the truth say about each workflow: how it was planned, and which jobs each retry put into it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.checker.events import JobAsked, WorkflowAsked
from tests.checker.history import History, Operation
from tests.checker.truth import TrueJob, TrueWorkflow, Truth

SPENT = frozenset({"dead", "cancelled", "expired"})
"""A job that ended so gets a new id when its workflow is retried."""


@dataclass(frozen=True, slots=True)
class Made:
    """An operation that was to store the workflow: an enqueue, or the end of the job that holds the token."""

    operation: Operation
    plan: WorkflowAsked
    token: int | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """The jobs of each step, from one retry to the next."""

    steps: tuple[tuple[str, ...], ...]
    compensate: str | None


@dataclass(slots=True)
class Flow:
    """All that is known of one workflow. A retry that did nothing has no generation.

    It is `vague` if it was retried and its jobs may have been removed: then nobody can say which were replaced.
    """

    id: str
    made: list[Made] = field(default_factory=list)
    cancels: list[Operation] = field(default_factory=list)
    retries: list[Operation] = field(default_factory=list)
    true: TrueWorkflow | None = None
    vague: bool = False
    generations: list[Generation] = field(default_factory=list)

    @property
    def plan(self) -> WorkflowAsked | None:
        return self.made[0].plan if self.made else None

    @property
    def removable(self) -> bool:
        return self.plan is not None and any(job.removable for step in self.plan.steps for job in step.jobs)

    @property
    def last(self) -> Generation:
        """The jobs that it consists of in the end."""
        return self.generations[-1] if self.generations else Generation((), None)

    @property
    def ids(self) -> set[str]:
        """All jobs that ever belonged to its steps."""
        return {id for one in self.generations for step in one.steps for id in step}

    def jobs(self) -> Iterator[tuple[int, str]]:
        """The last jobs of its steps, each with the number of its step."""
        for number, step in enumerate(self.last.steps):
            for id in step:
                yield number, id

    def before(self, generation: Generation, number: int) -> Iterator[tuple[int, str]]:
        """The jobs that a step waits for, each with the number of its step. A step without jobs waits for others."""
        assert self.plan is not None
        for needed in self.plan.steps[number].after:
            if not generation.steps[needed]:
                yield from self.before(generation, needed)
            for id in generation.steps[needed]:
                yield needed, id


def flows_of(history: History, truth: Truth) -> dict[str, Flow]:
    """By id, those that somebody speaks of and those that are stored."""
    flows: dict[str, Flow] = {}

    def flow(id: str) -> Flow:
        return flows.setdefault(id, Flow(id))

    for operation in history.of("enqueue_workflow"):
        flow(operation.asked.workflow.id).made.append(Made(operation, operation.asked.workflow))
    for operation in history.of("finish"):
        for one in operation.asked.workflows:
            flow(one.workflow.id).made.append(Made(operation, one.workflow, one.token))
    for operation in history.of("cancel_workflow"):
        flow(operation.asked.id).cancels.append(operation)
    for operation in history.of("retry_workflow"):
        flow(operation.asked.id).retries.append(operation)
    for true in truth.workflows:
        flow(true.id).true = true
    if flows:
        jobs = {job.id: job for job in truth.jobs}
        for one in flows.values():
            one.vague = bool(one.retries) and (one.removable or bool(history.of("prune", "purge_dead")))
            one.generations = list(_generations(one, jobs))
    return flows


def _generations(flow: Flow, jobs: dict[str, TrueJob]) -> Iterator[Generation]:
    """The first as it was planned, and one for each retry that did something.

    A retry enqueues some of its new jobs at once. Those that were enqueued before, and did not complete, are replaced.
    """
    if flow.plan is None:
        return
    steps = tuple(tuple(job.id for job in step.jobs) for step in flow.plan.steps)
    yield Generation(steps, _id(flow.plan.compensate))
    for at, retry in sorted(_effective(flow, jobs), key=lambda one: one[0]):
        spent = {id for step in steps for id in step if id in jobs and _is_spent(jobs[id], at)}
        fresh = iter(retry.asked.new_ids)
        steps = tuple(tuple(next(fresh, id) if id in spent else id for id in step) for step in steps)
        yield Generation(steps, _id(flow.plan.compensate) and retry.asked.new_ids[-1])


def _effective(flow: Flow, jobs: dict[str, TrueJob]) -> Iterator[tuple[int, Operation]]:
    """The retries of which there are jobs, each with its moment by the store's clock."""
    for retry in flow.retries:
        made = [jobs[id].created_at for id in retry.asked.new_ids if id in jobs]
        if made:
            yield min(made), retry


def _is_spent(job: TrueJob, at: int) -> bool:
    return job.state in SPENT and job.created_at < at


def _id(job: JobAsked | None) -> str | None:
    return None if job is None else job.id
