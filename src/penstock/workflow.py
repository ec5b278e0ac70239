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
from typing import Any

import msgspec

from penstock.client import Client, JobCall, Waiting, refuse_in_loop
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
    workflow_id,
)
from penstock.store.call import Call
from penstock.store.params import (
    CancelWorkflow,
    Claim,
    EnqueueWorkflow,
    JobSpec,
    NewJob,
    NewStep,
    NewWorkflow,
    RetryWorkflow,
    WorkflowCancelled,
)
from penstock.store.workflows import unknown_workflow


class Step:
    """One step of a workflow: what others come after, by `after=`."""

    __slots__ = ("_after", "calls", "flow", "many", "name", "number", "on_failure")

    def __init__(
        self, flow: Workflow, number: int, name: str, calls: tuple[JobCall[Any], ...], many: bool,
        after: Iterable[Step | str], on_failure: OnFailure,
    ) -> None:  # fmt: skip
        self.flow = flow
        self.number = number
        self.name = name
        self.calls = calls
        self.many = many
        self.on_failure = on_failure
        self._after = tuple(after)

    def __repr__(self) -> str:
        return f"<step {self.name!r} of {len(self.calls)} jobs>"

    def needs(self) -> tuple[int, ...]:
        """The numbers of the steps that it comes after."""
        return tuple(dict.fromkeys(self.flow.find(one, self).number for one in self._after))


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
        new = self.planned()
        try:
            created = self._client.store.enqueue_workflow(EnqueueWorkflow(new, conn)).wait()
        except CommitUncertain as error:
            raise _uncertain(error, new) from error
        return WorkflowHandle(new.id, created, self._client)

    async def aenqueue(self, *, conn: object | None = None) -> WorkflowHandle:
        """The same for async code."""
        new = self.planned()
        try:
            created = await self._client.store.enqueue_workflow(EnqueueWorkflow(new, conn))
        except CommitUncertain as error:
            raise _uncertain(error, new) from error
        return WorkflowHandle(new.id, created, self._client)


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


def _uncertain(error: CommitUncertain, new: NewWorkflow) -> EnqueueUncertain:
    return EnqueueUncertain(
        f"{error}. Look whether it is there before you enqueue it again: penstock workflows show {new.id}", (new.id,)
    )


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
        waiting = Waiting(self._client.store, timeout)
        while True:
            if waiting.changed():
                found = self.read()
                if found.state is not WorkflowState.RUNNING:
                    return found
            time.sleep(waiting.pause(f"workflow {self.id}"))

    async def aended(self, timeout: Duration | None = None) -> WorkflowInfo:
        """The same as ended(), for async code."""
        import asyncio

        waiting = Waiting(self._client.store, timeout)
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
        done = self._cancel("").wait()
        while done.after is not None:
            done = self._cancel(done.after).wait()
        return done.before

    async def acancel(self) -> WorkflowState:
        done = await self._cancel("")
        while done.after is not None:
            done = await self._cancel(done.after)
        return done.before

    def _cancel(self, after: str) -> Call[WorkflowCancelled]:
        return self._client.store.cancel_workflow(CancelWorkflow(id=self.id, after=after))

    def retry(self) -> int:
        """Run again what did not complete of a failed or cancelled workflow. Answers how many jobs that are."""
        refuse_in_loop("retry", "aretry")
        return self._retry(self.read()).wait()

    async def aretry(self) -> int:
        return await self._retry(await self.aread())

    def _retry(self, found: WorkflowInfo) -> Call[int]:
        ids = [self._client.new_id() for _ in range(found.size + 1)]
        return self._client.store.retry_workflow(RetryWorkflow(id=self.id, new_ids=ids))


def handle_of(client: Client, workflow: str) -> WorkflowHandle:
    """Of an id that somebody gave, which may be that of a job."""
    if not is_workflow(workflow):
        raise ConfigError(f"{workflow!r} is not the id of a workflow; that of a job is looked up with app.get()")
    return WorkflowHandle(workflow, False, client)


def known(found: WorkflowInfo | None, workflow: str) -> WorkflowInfo:
    if found is None:
        raise unknown_workflow(workflow)
    return found
