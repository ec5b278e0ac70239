"""Workflows as the user builds and follows them: steps of jobs, each begun when those that it comes after have ended.

flow = app.workflow("order")
paid = flow.step(charge.bind(7))
packed = flow.step(pack.bind(7), after=paid)
flow.step(notify.bind(7), after=packed)
flow.enqueue()
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from penstock.client.client import Client, JobCall, WaitForEnd, refuse_in_loop
from penstock.client.steps import Steps, awaited, waited
from penstock.domain.duration import Duration
from penstock.domain.errors import CommitUncertain, ConfigError, EnqueueUncertain, ResultGone
from penstock.domain.options import check_name, decode_policy
from penstock.domain.workflows import (
    STEPS_MAX,
    OnFailure,
    WorkflowInfo,
    WorkflowState,
    check_on_failure,
    find_cycle,
    is_workflow,
    unknown_workflow,
    workflow_id,
)
from penstock.store.call import Call
from penstock.store.contract import (
    CancelWorkflow,
    Changed,
    Claim,
    EnqueueWorkflow,
    JobSpec,
    NewJob,
    NewStep,
    NewWorkflow,
    RetryWorkflow,
    WorkflowCancelled,
    WorkflowEnqueued,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Step:
    """One step of a workflow: what others come after, by `after=`."""

    flow: Workflow
    number: int
    name: str
    calls: tuple[JobCall[Any], ...]
    many: bool
    after: tuple[Step | str, ...]
    on_failure: OnFailure

    def __repr__(self) -> str:
        return f"<step {self.name!r} of {len(self.calls)} jobs>"

    def needs(self) -> tuple[int, ...]:
        """The numbers of the steps that it comes after."""
        return tuple(dict.fromkeys(self.flow.find(one, self).number for one in self.after))


class Workflow:
    """A graph of jobs, not enqueued yet. Made by app.workflow()."""

    def __init__(
        self, client: Client, name: str, on_failure: OnFailure = "stop", compensate: JobCall[Any] | None = None
    ) -> None:
        self._client = client
        self.name = check_name(name, "workflow name")
        self._on_failure = check_on_failure(on_failure)
        self._compensate = None if compensate is None else _checked_call(compensate, "compensate=")
        self._steps: dict[str, Step] = {}

    def __repr__(self) -> str:
        return f"<workflow {self.name!r} of {len(self._steps)} steps>"

    def step(
        self,
        jobs: JobCall[Any] | Iterable[JobCall[Any]],
        *,
        name: str | None = None,
        after: Step | str | Iterable[Step | str] = (),
        on_failure: OnFailure | None = None,
    ) -> Step:
        """Add a step: one call made by bind(), or many that run side by side (fan-out).

        It begins when all jobs of the steps in `after` (what step() returned, or their names) have ended; one that
        comes after a step of many jobs gathers their results (fan-in). With on_failure="continue" those after it begin
        even if jobs of it did not complete. The name is that of the job type unless it is given.
        """
        many = not isinstance(jobs, JobCall)
        calls = _several(jobs, "a step takes calls made by bind()", "step(job.bind(…))") if many else (jobs,)
        for call in calls:
            self._client.refuse_foreign(_checked_call(call, "a step"))
        if name is None and not calls:
            raise ConfigError("a step without jobs has no name of its own; give it one: step([], name='pages')")
        name = check_name(calls[0].type if name is None else name, "step name")
        if name in self._steps:
            raise ConfigError(f"the workflow {self.name!r} has a step {name!r} already; give this one another name=")
        if len(self._steps) >= STEPS_MAX:
            raise ConfigError(
                f"the workflow {self.name!r} would have more than {STEPS_MAX:,} steps: put jobs that run side by side "
                "into one step"
            )
        needed = (after,) if isinstance(after, (Step, str)) else _several(after, AFTER, "after=first or after='first'")
        policy = self._on_failure if on_failure is None else check_on_failure(on_failure)
        self._steps[name] = Step(self, len(self._steps), name, calls, many, needed, policy)
        return self._steps[name]

    def find(self, needed: Step | str, of: Step) -> Step:
        """The step that another one comes after."""
        if isinstance(needed, Step):
            if needed.flow is not self:
                raise ConfigError(
                    f"step {of.name!r} comes after a step of another workflow, {needed.flow.name!r}; a step can only "
                    "wait for steps of its own"
                )
            return needed
        found = self._steps.get(needed) if isinstance(needed, str) else None
        if found is None:
            raise ConfigError(
                f"step {of.name!r} comes after {needed!r}, which is no step of the workflow {self.name!r}; its steps "
                f"are: {', '.join(self._steps)}"
            )
        return found

    def planned(self, parent: Claim | None = None) -> NewWorkflow:
        """As it is stored, by this job if one makes it. Every mistake in it is an error here."""
        if not self._steps:
            raise ConfigError(f"the workflow {self.name!r} has no steps; add one: step(job.bind(…))")
        steps = list(self._steps.values())
        after = [step.needs() for step in steps]
        if (cycle := find_cycle(after)) is not None:
            names = " after ".join(repr(steps[number].name) for number in [*cycle, cycle[0]])
            raise ConfigError(f"the steps of the workflow {self.name!r} wait for each other in a circle: {names}")
        id_ = workflow_id(self._client.new_id())
        return NewWorkflow(
            id=id_,
            name=self.name,
            steps=tuple(
                NewStep(
                    step.name,
                    tuple(self._job(call, id_, parent) for call in step.calls),
                    needed,
                    step.on_failure,
                    step.many,
                )
                for step, needed in zip(steps, after, strict=True)
            ),
            compensate=None if self._compensate is None else self._client.child(self._compensate, id_, parent),
            parent=None if parent is None else parent.id,
        )

    def _job(self, call: JobCall[Any], workflow: str, parent: Claim | None) -> NewJob:
        job = self._client.child(call, workflow, parent)
        return msgspec.structs.replace(job, spec=_kept(job.spec))

    def enqueue(self, *, conn: object | None = None) -> WorkflowHandle:
        """Store it. When this returns, it is committed, and its first steps run."""
        refuse_in_loop("enqueue", "aenqueue")
        return waited(self._enqueue(conn))

    async def aenqueue(self, *, conn: object | None = None) -> WorkflowHandle:
        """The same for async code."""
        return await awaited(self._enqueue(conn))

    def _enqueue(self, conn: object | None) -> Steps[WorkflowHandle]:
        new = self.planned()
        try:
            stored: WorkflowEnqueued = yield self._client.store.enqueue_workflow(EnqueueWorkflow(new, conn))
        except CommitUncertain as error:
            raise EnqueueUncertain(
                f"{error}. Look whether it is there before you enqueue it again: penstock workflows show {new.id}",
                (new.id,),
            ) from error
        return WorkflowHandle(new.id, stored.created, self._client)


AFTER = "after= takes steps of the same workflow, or their names"


def _several(given: Any, what: str, example: str) -> tuple[Any, ...]:
    """What was given as several, or an error that shows how."""
    try:
        return tuple(given)
    except TypeError:
        raise ConfigError(f"{what}, not {given!r}: {example}") from None


def _checked_call(call: object, where: str) -> JobCall[Any]:
    if not isinstance(call, JobCall):
        raise ConfigError(f"{where} takes calls made by bind(), not {type(call).__name__}: job.bind(…)")
    if call.job_id is not None:
        raise ConfigError(f"a job of a workflow gets its id with it: leave id= out of the options of {call.type}")
    if call.spec.unique is not None:
        raise ConfigError(
            f"{call.type} has a unique key, and a job of a workflow cannot have one: it would never run if another job "
            "held the key; bind it with using(unique=None), or limit how many run at once with Concurrency"
        )
    return call


def _kept(spec: JobSpec) -> JobSpec:
    """A failed job of a workflow is kept, whatever its type says: it can be retried with the rest."""
    policy = decode_policy(spec.policy)
    if policy.remove_on_fail is False:
        return spec
    kept = msgspec.json.encode(msgspec.structs.replace(policy, remove_on_fail=False)).decode()
    return msgspec.structs.replace(spec, policy=kept)


class WorkflowHandle(msgspec.Struct, frozen=True, eq=False):
    """A stored workflow: follow it, wait for its end, cancel it, retry it."""

    id: str
    created: bool
    _client: Client

    def __repr__(self) -> str:
        return f"<workflow {self.id}>"

    def read(self) -> WorkflowInfo:
        """The whole workflow as it is now."""
        refuse_in_loop("read", "aread")
        return self._known(self._look().wait())

    async def aread(self) -> WorkflowInfo:
        return self._known(await self._look())

    def _look(self) -> Call[WorkflowInfo | None]:
        return self._client.store.read_workflow(self.id)

    def _known(self, found: WorkflowInfo | None) -> WorkflowInfo:
        if found is None:
            raise ResultGone(
                f"workflow {self.id} is not in the store: it ended and was removed, or was rolled back or undone "
                "by a restore"
            )
        return found

    def state(self) -> WorkflowState:
        refuse_in_loop("state", "astate")
        return self.read().state

    async def astate(self) -> WorkflowState:
        return (await self.aread()).state

    def ended(self, timeout: Duration | None = None) -> WorkflowInfo:
        """Wait for its end, and tell how it ended. After `timeout`: ResultTimeout; it goes on by itself."""
        refuse_in_loop("ended", "aended")
        waiting = WaitForEnd(self._client.store, timeout)
        while True:
            if waiting.changed():
                found = self.read()
                if found.state is not WorkflowState.RUNNING:
                    return found
            time.sleep(waiting.pause(f"workflow {self.id}"))

    async def aended(self, timeout: Duration | None = None) -> WorkflowInfo:
        """The same as ended(), for async code."""
        import asyncio

        waiting = WaitForEnd(self._client.store, timeout)
        while True:
            if waiting.changed():
                found = await self.aread()
                if found.state is not WorkflowState.RUNNING:
                    return found
            await asyncio.sleep(waiting.pause(f"workflow {self.id}"))

    def cancel(self) -> WorkflowState:
        """Cancel the whole: no step begins any more, what waits is cancelled, what runs is asked to stop. Answers the
        state in which it was found.
        """
        refuse_in_loop("cancel", "acancel")
        return waited(self._cancel())

    async def acancel(self) -> WorkflowState:
        return await awaited(self._cancel())

    def _cancel(self) -> Steps[WorkflowState]:
        """Page by page, each from the job after which the last one ended."""
        after = ""
        while True:
            done: WorkflowCancelled = yield self._client.store.cancel_workflow(CancelWorkflow(id=self.id, after=after))
            if done.after is None:
                return done.before
            after = done.after

    def retry(self) -> int:
        """Run again what did not complete of a failed or cancelled workflow. Answers how many jobs that are."""
        refuse_in_loop("retry", "aretry")
        return waited(self._retry())

    async def aretry(self) -> int:
        return await awaited(self._retry())

    def _retry(self) -> Steps[int]:
        found = self._known((yield self._look()))
        ids = [self._client.new_id() for _ in range(found.size + 1)]
        changed: Changed = yield self._client.store.retry_workflow(RetryWorkflow(id=self.id, new_ids=ids))
        return changed.jobs


def handle_of(client: Client, workflow: str) -> WorkflowHandle:
    """Of an id that somebody gave, which may be that of a job."""
    if not is_workflow(workflow):
        raise ConfigError(f"{workflow!r} is not the id of a workflow; that of a job is looked up with app.get()")
    return WorkflowHandle(workflow, False, client)


def known(found: WorkflowInfo | None, workflow: str) -> WorkflowInfo:
    if found is None:
        raise unknown_workflow(workflow)
    return found
