"""Looking at workflows, and the results that their steps pass on."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.domain.clock import from_us
from penstock.domain.errors import PayloadTooLarge, UsageError
from penstock.domain.job import State
from penstock.domain.workflows import OnFailure, StepInfo, WorkflowInfo, WorkflowState
from penstock.store import contract as p
from penstock.store.sql.rows import final_state, named_state
from penstock.store.sql.steps import Steps, as_json, run
from penstock.store.sql.unreadable import tell_unreadable_job
from penstock.store.sql.workflows.rows import STATES, decode_specs


def read(workflow: str) -> Steps[WorkflowInfo | None]:
    """The workflow as it is now, with its steps."""
    found = yield from run("read_workflow", id=workflow)
    if not found:
        return None
    jobs: dict[int, dict[State, int]] = {}
    for step, state, code, count in (yield from run("count_members", workflow=workflow)):
        try:
            jobs.setdefault(step, {})[named_state(state or code)] = count
        except ValueError as error:
            tell_unreadable_job(f"{count:,} jobs of the workflow {workflow}: {error}")
    steps = yield from run("read_steps", workflow=workflow)
    return _info(found[0], tuple(_step(jobs.get(row[0], {}), *row) for row in steps))


def list_all(listed: p.ListWorkflows) -> Steps[list[WorkflowInfo]]:
    states = None if listed.states is None else as_json(sorted(STATES.index(state) for state in listed.states))
    rows = yield from run(
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


def results(read: p.ReadResults) -> Steps[list[p.StepResult]]:
    found = yield from run("size_of_results", workflow=read.workflow, step=read.step)
    if not found:
        names = [name for (name,) in (yield from run("step_names", workflow=read.workflow))]
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
    rows = yield from run("step_results", workflow=read.workflow, step=number)
    types = [spec.type for spec in decode_specs(specs)]
    return [
        p.StepResult(id_, types[spec], bool(many), None if state is None else final_state(id_, state), result)
        for id_, spec, state, result in rows
    ]
