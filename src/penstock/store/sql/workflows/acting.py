"""What people do to workflows: cancel and retry them as a whole."""

from __future__ import annotations

import msgspec

from penstock.domain.errors import StoreBusy, UnknownJob, UsageError
from penstock.domain.job import State, StateCode
from penstock.domain.workflows import WorkflowState, unknown_workflow
from penstock.store import contract as p
from penstock.store.sql.engine import Engine
from penstock.store.sql.operations.audit import audit
from penstock.store.sql.operations.jobs import cancel_job
from penstock.store.sql.steps import Steps, as_json, run
from penstock.store.sql.workflows.advancing import Advance, advance, note_ended
from penstock.store.sql.workflows.rows import STATES, Ended, decode_job


def cancel(engine: Engine, cancel: p.CancelWorkflow) -> Steps[p.WorkflowCancelled]:
    """Begin no more of it, cancel what waits, and ask what runs to stop."""
    state, _, _ = yield from _find(cancel.id)
    if state is not WorkflowState.RUNNING:
        return p.WorkflowCancelled(state, 0, None)
    if not cancel.after:
        yield from run("stop_workflow", id=cancel.id, stop=STATES.index(WorkflowState.CANCELLED))
        yield from audit(cancel.actor, "cancel workflow", {"id": cancel.id})
    page = [id_ for (id_,) in (yield from run("open_members", id=cancel.id, after=cancel.after, limit=cancel.limit))]
    ended: list[Ended] = []
    for job_id in page:
        try:
            told = yield from cancel_job(engine, p.CancelJob(job_id, cancel.actor))
        except UnknownJob:
            continue
        if told.after is State.CANCELLED:
            ended.append(Ended(job_id, StateCode.CANCELLED))
    if ended:
        yield from note_ended(engine, ended)
    return p.WorkflowCancelled(state, len(page), page[-1] if len(page) == cancel.limit else None, engine.happened)


def retry(engine: Engine, retry: p.RetryWorkflow) -> Steps[p.Changed]:
    """Run again what did not complete; answers how many jobs that are."""
    state, stop, compensate = yield from _find(retry.id)
    members = yield from run("unfinished_members", id=retry.id)
    if state in (WorkflowState.RUNNING, WorkflowState.COMPLETED):
        fix = _instead_of_retry(state, stop, len(members))
        raise UsageError(f"workflow {retry.id} is {state}, and only a failed or cancelled one is retried; {fix}")
    spent = [id_ for id_, released in members if released]
    if len(spent) >= len(retry.new_ids):
        raise StoreBusy(f"workflow {retry.id} has changed while it was looked at; retry it again")
    pairs = list(zip(spent, retry.new_ids, strict=False))
    yield from run("renew_members", rows=as_json(pairs))
    yield from run("link_renewed", rows=as_json(pairs))
    yield from run("reset_steps", id=retry.id)
    yield from run("reset_needs", id=retry.id)
    again = (
        None if compensate is None else as_json(msgspec.structs.replace(decode_job(compensate), id=retry.new_ids[-1]))
    )
    yield from run("reopen_workflow", id=retry.id, compensate=again)
    ready = [step for (step,) in (yield from run("steps_to_begin", id=retry.id))]
    way = Advance(engine, [])
    yield from advance(way, retry.id, sorted(ready))
    yield from way.end()
    yield from audit(retry.actor, "retry workflow", {"id": retry.id, "jobs": pairs})
    return p.Changed(len(members), engine.happened)


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
    found = yield from run("find_workflow", id=workflow)
    if not found:
        raise unknown_workflow(workflow)
    [(state, stop, compensate)] = found
    return STATES[state], stop, compensate
