"""How workflows advance, written once for the SQL engines: generators that ask for statements and are sent their rows.

Steps are begun by enqueueing their jobs, which until then are only planned. Everything happens in the transaction that
ends a job: what it counts down, and what begins because of it, is stored with its outcome or not at all.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Container, Generator, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

import msgspec

from penstock.domain.clock import from_us
from penstock.domain.errors import PayloadTooLarge, StoreBusy, UnknownWorkflow, UsageError
from penstock.domain.gates import Gate
from penstock.domain.job import Event, State, StateCode
from penstock.domain.workflows import OnFailure, StepInfo, WorkflowInfo, WorkflowState
from penstock.store import params as p
from penstock.store.rows import final_state, named_state
from penstock.store.unreadable import tell_unreadable_job

T = TypeVar("T")


class Ask(NamedTuple):
    """A statement of the engine by its name. Lists are sent as JSON, so that all engines read them alike."""

    name: str
    parameters: dict[str, Any]


class Put(NamedTuple):
    """Jobs to enqueue. `strict` refuses two limits for one key; otherwise the one that is stored holds, since nobody is
    there to be told, and a workflow that cannot go on would be worse.
    """

    jobs: list[p.NewJob]
    strict: bool = False


class Stop(NamedTuple):
    """A job to cancel."""

    cancel: p.CancelJob


Steps = Generator[Ask | Put | Stop, list[Any], T]


class Ended(NamedTuple):
    """A job of a workflow that has ended, and how."""

    id: str
    state: int
    result: str | None = None


STATES = (WorkflowState.RUNNING, WorkflowState.COMPLETED, WorkflowState.FAILED, WorkflowState.CANCELLED)
"""By their numbers in the store."""

_member = attrgetter("member")
_specs = msgspec.json.Decoder(list[p.JobSpec]).decode
decode_gates = msgspec.json.Decoder(tuple[Gate, ...]).decode
_job = msgspec.json.Decoder(p.NewJob).decode


def ask(name: str, /, **parameters: Any) -> Steps[list[Any]]:
    return (yield Ask(name, parameters))


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# Making


def add(new: p.NewWorkflow) -> Steps[bool]:
    """Store a workflow and begin what waits for nothing. False if its id is stored already."""
    made = yield from ask(
        "add_workflow",
        id=new.id,
        name=new.name,
        parent=new.parent,
        open=len(new.steps),
        compensate=as_json(new.compensate) if new.compensate else None,
    )
    if not made:
        return False
    yield from ask("add_steps", workflow=new.id, rows=as_json([_step_row(*one) for one in enumerate(new.steps)]))
    yield from ask(
        "add_needs",
        workflow=new.id,
        rows=as_json([(needed, number) for number, step in enumerate(new.steps) for needed in step.after]),
    )
    yield from ask(
        "add_members",
        workflow=new.id,
        rows=as_json([row for number, step in enumerate(new.steps) for row in _member_rows(number, step)]),
    )
    first = [number for number, step in enumerate(new.steps) if not step.after]
    yield from _advance(new.id, first, strict=True)
    return True


def _step_row(number: int, step: p.NewStep) -> tuple[Any, ...]:
    specs = as_json(_specs_of(step))
    return number, step.name, step.on_failure, len(step.after), len(step.jobs), specs, step.many


def _specs_of(step: p.NewStep) -> list[p.JobSpec]:
    return list(dict.fromkeys(job.spec for job in step.jobs))


def _member_rows(number: int, step: p.NewStep) -> Iterable[tuple[Any, ...]]:
    places = {spec: place for place, spec in enumerate(_specs_of(step))}
    for place, job in enumerate(step.jobs):
        gates = as_json(job.gates) if job.gates else None
        yield job.id, number, place, places[job.spec], job.payload, gates


# Advancing


def note_ended(ended: Sequence[Ended]) -> Steps[None]:
    """Jobs have ended: count their steps down, and begin or stop what follows."""
    counts: Counter[tuple[str, int]] = Counter()
    failed: Counter[tuple[str, int]] = Counter()
    for workflow, step, state in (yield from ask("end_members", ended=as_json(ended))):
        counts[workflow, step] += 1
        failed[workflow, step] += state != StateCode.COMPLETED
    over: list[tuple[str, int]] = []
    for (workflow, step), count in sorted(counts.items()):
        counted = yield from ask("count_down", workflow=workflow, step=step, ended=count, failed=failed[workflow, step])
        for left, on_failure in counted:  # None if somebody has removed the step: the jobs of others end all the same.
            if failed[workflow, step] and on_failure == "stop":
                yield from ask("stop_workflow", id=workflow, stop=STATES.index(WorkflowState.FAILED))
            if left == 0:
                over.append((workflow, step))
    for workflow, step in over:
        yield from _advance(workflow, ended=[step])


def note_dead(ids: Sequence[str]) -> Steps[None]:
    """Jobs have ended as they were enqueued: no worker can run them."""
    yield from note_ended([Ended(id_, StateCode.DEAD) for id_ in ids])


def _advance(workflow: str, begin: Iterable[int] = (), ended: Iterable[int] = (), strict: bool = False) -> Steps[None]:
    """Begin steps, and those that come after steps that have ended. One without jobs ends as it begins."""
    beginning, ending = deque(begin), deque(ended)
    while beginning or ending:
        if beginning:
            step = beginning.popleft()
            if not (yield from _begin(workflow, step, strict)):
                ending.append(step)
        else:
            beginning += yield from _end_step(workflow, ending.popleft())


def _begin(workflow: str, step: int, strict: bool) -> Steps[int]:
    """Enqueue the jobs of a step; answers how many it has."""
    [(specs, jobs)] = yield from ask("begin_step", workflow=workflow, step=step)
    planned = yield from ask("release_members", workflow=workflow, step=step)
    if planned:
        yield Put(_planned_jobs(_specs(specs), planned), strict)
    count: int = jobs
    return count


def _end_step(workflow: str, step: int) -> Steps[list[int]]:
    """All jobs of a step have ended, or it has none: answers those after it that may begin."""
    [(left, stop)] = yield from ask("end_step", workflow=workflow)
    unblocked = [] if stop else (yield from ask("unblock_steps", workflow=workflow, needed=step))
    if left == 0:
        yield from _end(workflow)
    return sorted(number for number, pending in unblocked if pending == 0)


def _planned_jobs(specs: list[p.JobSpec], rows: Iterable[tuple[Any, ...]]) -> list[p.NewJob]:
    return [
        p.NewJob(id_, payload, specs[spec], decode_gates(gates) if gates else ())
        for _, id_, spec, payload, gates in sorted(rows)
    ]


def _end(workflow: str) -> Steps[None]:
    [(state, compensate)] = yield from ask("end_workflow", id=workflow)
    if compensate is not None and STATES[state] is WorkflowState.FAILED:
        yield Put([_job(compensate)])


def settle(settle: p.SettleWorkflows) -> Steps[int]:
    """Jobs that ended where their workflow was not told: expired, cancelled while they waited, lost with a worker."""
    found = yield from ask("ended_members", limit=settle.limit)
    if found:
        yield from note_ended([Ended(id_, StateCode.COMPLETED if state is None else state, result)
                               for id_, state, result in found])  # fmt: skip
    return len(found)


# What people do


def cancel(cancel: p.CancelWorkflow) -> Steps[p.WorkflowCancelled]:
    """Begin no more of it, cancel what waits, and ask what runs to stop."""
    state, _, _ = yield from _find(cancel.id)
    if state is not WorkflowState.RUNNING:
        return p.WorkflowCancelled(state, 0, None)
    if not cancel.after:
        yield from ask("stop_workflow", id=cancel.id, stop=STATES.index(WorkflowState.CANCELLED))
        yield from _audit(cancel.actor, "cancel workflow", {"id": cancel.id})
    page = [id_ for (id_,) in (yield from ask("open_members", id=cancel.id, after=cancel.after, limit=cancel.limit))]
    ended: list[Ended] = []
    for job_id in page:
        [told] = yield Stop(p.CancelJob(job_id, cancel.actor))
        if told is not None and told.after is State.CANCELLED:
            ended.append(Ended(job_id, StateCode.CANCELLED))
    if ended:
        yield from note_ended(ended)
    return p.WorkflowCancelled(state, len(page), page[-1] if len(page) == cancel.limit else None)


def retry(retry: p.RetryWorkflow) -> Steps[int]:
    """Run again what did not complete; answers how many jobs that are."""
    state, stop, compensate = yield from _find(retry.id)
    members = yield from ask("unfinished_members", id=retry.id)
    if state in (WorkflowState.RUNNING, WorkflowState.COMPLETED):
        fix = _instead_of_retry(state, stop, len(members))
        raise UsageError(f"workflow {retry.id} is {state}, and only a failed or cancelled one is retried; {fix}")
    spent = [id_ for id_, released in members if released]
    if len(spent) >= len(retry.new_ids):
        raise StoreBusy(f"workflow {retry.id} has changed while it was looked at; retry it again")
    pairs = list(zip(spent, retry.new_ids, strict=False))
    yield from ask("renew_members", rows=as_json(pairs))
    yield from ask("link_renewed", rows=as_json(pairs))
    yield from ask("reset_steps", id=retry.id)
    yield from ask("reset_needs", id=retry.id)
    again = None if compensate is None else as_json(msgspec.structs.replace(_job(compensate), id=retry.new_ids[-1]))
    yield from ask("reopen_workflow", id=retry.id, compensate=again)
    ready = [step for (step,) in (yield from ask("steps_to_begin", id=retry.id))]
    yield from _advance(retry.id, sorted(ready))
    yield from _audit(retry.actor, "retry workflow", {"id": retry.id, "jobs": pairs})
    return len(members)


def _instead_of_retry(state: WorkflowState, stop: int, unfinished: int) -> str:
    if state is WorkflowState.RUNNING:
        return "it ends when its last job has stopped: wait for that" if stop else "cancel it first"
    if not unfinished:
        return "nothing is left to do"
    return (
        f"{unfinished} of its jobs did not complete, and it went on without them (on_failure='continue'): retry them "
        "by themselves, penstock dead list shows them"
    )


def _find(workflow: str) -> Steps[tuple[WorkflowState, int, str | None]]:
    """Its state, that in which it will end if it was stopped, and the job that compensates. On PostgreSQL it is locked
    until the end of the transaction.
    """
    found = yield from ask("find_workflow", id=workflow)
    if not found:
        raise unknown_workflow(workflow)
    [(state, stop, compensate)] = found
    return STATES[state], stop, compensate


def _audit(actor: str, action: str, detail: Any) -> Steps[None]:
    yield from ask("audit", actor=actor, action=action, detail=as_json(detail))


def unknown_workflow(workflow: str) -> UnknownWorkflow:
    return UnknownWorkflow(
        f"no workflow has the id {workflow}; it never existed in this store, or retention removed it"
    )


# Looking


def read(workflow: str) -> Steps[WorkflowInfo | None]:
    """The workflow as it is now, with its steps."""
    found = yield from ask("read_workflow", id=workflow)
    if not found:
        return None
    jobs: dict[int, dict[State, int]] = {}
    for step, state, code, count in (yield from ask("count_members", workflow=workflow)):
        try:
            jobs.setdefault(step, {})[named_state(state or code)] = count
        except ValueError as error:
            tell_unreadable_job(f"{count:,} jobs of the workflow {workflow}: {error}")
    steps = yield from ask("read_steps", workflow=workflow)
    return _info(found[0], tuple(_step(jobs.get(row[0], {}), *row) for row in steps))


def list_all(listed: p.ListWorkflows) -> Steps[list[WorkflowInfo]]:
    states = None if listed.states is None else as_json(sorted(STATES.index(state) for state in listed.states))
    rows = yield from ask(
        "list_workflows",
        name=listed.name,
        parent=listed.parent,
        states=states,
        before=listed.before,
        limit=listed.limit,
    )
    return [_info(row) for row in rows]


def _info(row: tuple[Any, ...], steps: tuple[StepInfo, ...] = ()) -> WorkflowInfo:
    id_, name, state, stop, created_at, ended_at, parent, size, ended = row
    return WorkflowInfo(
        id=id_, name=name, state=STATES[state], created_at=from_us(created_at),
        ended_at=None if ended_at is None else from_us(ended_at), parent=parent, size=size, ended=ended, steps=steps,
        stopping=STATES[stop] if stop and STATES[state] is WorkflowState.RUNNING else None,
    )  # fmt: skip


def _step(
    jobs: dict[State, int], number: int, name: str, on_failure: OnFailure, size: int, begun: bool, after: str
) -> StepInfo:
    needed = tuple(msgspec.json.decode(after, type=list[str]))
    return StepInfo(name=name, after=needed, on_failure=on_failure, size=size, begun=bool(begun), jobs=jobs)


# Retention


def forget(ages: Mapping[WorkflowState, int], limit: int) -> Steps[int]:
    """Remove workflows that ended so many microseconds ago; answers how many. Their jobs are removed by themselves."""
    removed = 0
    for state, age in ages.items():
        found = yield from ask("old_workflows", state=STATES.index(state), age=age, limit=limit)
        if found:
            workflows = as_json([id_ for (id_,) in found])
            for name in ("delete_members", "delete_needs", "delete_steps", "delete_workflows"):
                yield from ask(name, workflows=workflows)
        removed += len(found)
    return removed


# Results


def results(read: p.ReadResults) -> Steps[list[p.StepResult]]:
    found = yield from ask("size_of_results", workflow=read.workflow, step=read.step)
    if not found:
        names = [name for (name,) in (yield from ask("step_names", workflow=read.workflow))]
        raise UsageError(
            f"the workflow has no step {read.step!r}; its steps are: {', '.join(names)}" if names
            else f"workflow {read.workflow} is not stored"
        )  # fmt: skip
    [(number, size, many, specs)] = found
    if size > read.bytes_max:
        raise PayloadTooLarge(
            f"the results of step {read.step!r} are {size:,} bytes together; the limit is {read.bytes_max:,}: store "
            "the data elsewhere and return references"
        )
    rows = yield from ask("step_results", workflow=read.workflow, step=number)
    types = [spec.type for spec in _specs(specs)]
    return [
        p.StepResult(id_, types[spec], bool(many), None if state is None else final_state(id_, state), result)
        for id_, spec, state, result in rows
    ]


# Finishing


def has_members(finish: p.FinishJobs) -> bool:
    """Asked of every batch, so it is done without a step of the interpreter for each job."""
    return any(map(_member, finish.completed)) or any(map(_member, finish.unfinished))


def members_of(finish: p.FinishJobs) -> list[tuple[int, str]]:
    """The attempts whose jobs belong to a workflow: (token, id)."""
    completed = [(done.token, done.member) for done in finish.completed if done.member is not None]
    return completed + [(end.token, end.member) for end in finish.unfinished if end.member is not None]


def ended_of(finish: p.FinishJobs, held: Container[int], cancelled: Container[int]) -> list[Ended]:
    """The members that end with what a worker reports, of those whose tokens are still current: `held`, or `cancelled`
    if a person asked for it, which wins.
    """
    said: list[tuple[int, str | None, int | None, str | None]] = [
        *((done.token, done.member, StateCode.COMPLETED, done.result) for done in finish.completed),
        *((end.token, end.member, _ENDS.get(end.event), None) for end in finish.unfinished),
    ]
    ended: list[Ended] = []
    for token, member, state, result in said:
        if member is not None and token in cancelled:
            ended.append(Ended(member, StateCode.CANCELLED))
        elif member is not None and token in held and state is not None:
            ended.append(Ended(member, state, result))
    return ended


_ENDS = {Event.FAIL: StateCode.DEAD, Event.CANCEL: StateCode.CANCELLED}
