"""How workflows advance: steps are begun by enqueueing their jobs, which until then are only planned.

Everything happens in the transaction that ends a job: what it counts down, and what begins because of it, is stored
with its outcome or not at all.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from penstock.domain.job import StateCode
from penstock.domain.workflows import WorkflowState
from penstock.store import contract as p
from penstock.store.sql.engine import Engine
from penstock.store.sql.steps import Steps, as_json, run
from penstock.store.sql.workflows.rows import STATES, Ended, decode_gates, decode_job, decode_specs


class Advance(NamedTuple):
    """Workflows advancing in one operation. Jobs that are `dead` have ended as they were enqueued, since no worker can
    run them: their workflows are told when what is under way is done.
    """

    engine: Engine
    dead: list[str]

    def put(self, jobs: Sequence[p.NewJob], strict: bool = False) -> Steps[None]:
        """Not strict about limits where nobody is there to be told: a workflow that cannot go on would be worse."""
        self.dead.extend(job.id for job in (yield from self.engine.enqueue(jobs, strict=strict)) if job.dead)

    def end(self) -> Steps[None]:
        while self.dead:
            ended = [Ended(id_, StateCode.DEAD) for id_ in self.dead]
            self.dead.clear()
            yield from _count_ended(self, ended)


def add(engine: Engine, new: p.NewWorkflow) -> Steps[p.WorkflowEnqueued]:
    """Store a workflow and begin what waits for nothing, unless its id is stored already."""
    made = yield from run(
        "add_workflow",
        id=new.id,
        name=new.name,
        parent=new.parent,
        open=len(new.steps),
        compensate=as_json(new.compensate) if new.compensate else None,
    )
    if not made:
        return p.WorkflowEnqueued(False, engine.happened)
    yield from run("add_steps", workflow=new.id, rows=as_json([_step_row(*one) for one in enumerate(new.steps)]))
    yield from run(
        "add_needs",
        workflow=new.id,
        rows=as_json([(needed, number) for number, step in enumerate(new.steps) for needed in step.after]),
    )
    yield from run(
        "add_members",
        workflow=new.id,
        rows=as_json([row for number, step in enumerate(new.steps) for row in _member_rows(number, step)]),
    )
    first = [number for number, step in enumerate(new.steps) if not step.after]
    way = Advance(engine, [])
    yield from advance(way, new.id, first, strict=True)
    yield from way.end()
    return p.WorkflowEnqueued(True, engine.happened)


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


def note_ended(engine: Engine, ended: Sequence[Ended]) -> Steps[None]:
    """Jobs have ended: count their steps down, and begin or stop what follows."""
    way = Advance(engine, [])
    yield from _count_ended(way, ended)
    yield from way.end()


def _count_ended(way: Advance, ended: Sequence[Ended]) -> Steps[None]:
    counts: Counter[tuple[str, int]] = Counter()
    failed: Counter[tuple[str, int]] = Counter()
    for workflow, step, state in (yield from run("end_members", ended=as_json(ended))):
        counts[workflow, step] += 1
        failed[workflow, step] += state != StateCode.COMPLETED
    over: list[tuple[str, int]] = []
    for (workflow, step), count in sorted(counts.items()):
        counted = yield from run("count_down", workflow=workflow, step=step, ended=count, failed=failed[workflow, step])
        for left, on_failure in counted:  # None if somebody has removed the step: the jobs of others end all the same.
            if failed[workflow, step] and on_failure == "stop":
                yield from run("stop_workflow", id=workflow, stop=STATES.index(WorkflowState.FAILED))
            if left == 0:
                over.append((workflow, step))
    for workflow, step in over:
        yield from advance(way, workflow, ended=[step])


def advance(
    way: Advance, workflow: str, begin: Iterable[int] = (), ended: Iterable[int] = (), strict: bool = False
) -> Steps[None]:
    """Begin steps, and those that come after steps that have ended. One without jobs ends as it begins."""
    beginning, ending = deque(begin), deque(ended)
    while beginning or ending:
        if beginning:
            step = beginning.popleft()
            if not (yield from _begin(way, workflow, step, strict)):
                ending.append(step)
        else:
            beginning += yield from _end_step(way, workflow, ending.popleft())


def _begin(way: Advance, workflow: str, step: int, strict: bool) -> Steps[int]:
    """Enqueue the jobs of a step; answers how many it has."""
    [(specs, jobs)] = yield from run("begin_step", workflow=workflow, step=step)
    planned = yield from run("release_members", workflow=workflow, step=step)
    if planned:
        yield from way.put(_planned_jobs(decode_specs(specs), planned), strict)
    count: int = jobs
    return count


def _end_step(way: Advance, workflow: str, step: int) -> Steps[list[int]]:
    """All jobs of a step have ended, or it has none: answers those after it that may begin."""
    [(left, stop)] = yield from run("end_step", workflow=workflow)
    unblocked = [] if stop else (yield from run("unblock_steps", workflow=workflow, needed=step))
    if left == 0:
        yield from _end(way, workflow)
    return sorted(number for number, pending in unblocked if pending == 0)


def _planned_jobs(specs: list[p.JobSpec], rows: Iterable[tuple[Any, ...]]) -> list[p.NewJob]:
    return [
        p.NewJob(id_, payload, specs[spec], decode_gates(gates) if gates else ())
        for _, id_, spec, payload, gates in sorted(rows)
    ]


def _end(way: Advance, workflow: str) -> Steps[None]:
    [(state, compensate)] = yield from run("end_workflow", id=workflow)
    if compensate is not None and STATES[state] is WorkflowState.FAILED:
        yield from way.put([decode_job(compensate)])


def settle(engine: Engine, settle: p.SettleWorkflows) -> Steps[p.Changed]:
    """Jobs that ended where their workflow was not told: expired, cancelled while they waited, lost with a worker."""
    found = yield from run("ended_members", limit=settle.limit)
    if found:
        yield from note_ended(engine, [Ended(id_, StateCode.COMPLETED if state is None else state, result)
                               for id_, state, result in found])  # fmt: skip
    return p.Changed(len(found), engine.happened)


def forget(ages: Mapping[WorkflowState, int], limit: int) -> Steps[int]:
    """Remove workflows that ended so many microseconds ago; answers how many. Their jobs are removed by themselves."""
    removed = 0
    for state, age in ages.items():
        found = yield from run("old_workflows", state=STATES.index(state), age=age, limit=limit)
        if found:
            workflows = as_json([id_ for (id_,) in found])
            for name in ("delete_members", "delete_needs", "delete_steps", "delete_workflows"):
                yield from run(name, workflows=workflows)
        removed += len(found)
    return removed
