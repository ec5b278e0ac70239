"""What people do to jobs: cancel them, retry and purge dead letters.

Each is one transaction. On PostgreSQL it sees what others commit meanwhile (READ COMMITTED): where two could act on one
job, the row that decides is locked or deleted first, and whoever comes second looks again.
"""

from __future__ import annotations

import msgspec

from penstock.domain.errors import StoreBusy
from penstock.domain.flow.gates import Wholes
from penstock.domain.ids import is_id
from penstock.domain.job import Event, State, next_state
from penstock.store import contract as p
from penstock.store.sql.declared import read_types
from penstock.store.sql.engine import Engine, Found
from penstock.store.sql.gating import read_limits
from penstock.store.sql.happening import tell
from penstock.store.sql.operations.audit import audit
from penstock.store.sql.operations.duties import remove_jobs
from penstock.store.sql.operations.planned import missing
from penstock.store.sql.rows import (
    FINAL_STATES,
    DeadJob,
    final_state,
    job_again,
    refuse_retried,
    refuse_unknown,
    unknown_job,
)
from penstock.store.sql.steps import Steps, run
from penstock.store.sql.workflows import advancing as workflows

CANCEL_ROUNDS_MAX = 5


# Cancel


def cancel_job(engine: Engine, cancel: p.CancelJob) -> Steps[p.Cancelled]:
    """A claim, a finish or a recovery may move the job between looking and acting: then it is looked for again."""
    if not is_id(cancel.id):
        raise unknown_job(cancel.id)
    for look in range(CANCEL_ROUNDS_MAX):
        found = yield from run("find_job", id=cancel.id)
        if not found:
            raise (yield from missing(cancel.id))
        job = Found(*found[0])
        if job.outcome is not None:
            ended = final_state(cancel.id, job.outcome)
            return p.Cancelled(ended, ended, engine.happened)
        if job.overdue and job.token is None and look == 0:  # It reads as expired, and is not cancelled any more.
            yield from engine.expire([cancel.id])
            continue
        done = yield from (
            _ask_to_stop(engine, job.token) if job.token is not None else _cancel_waiting(engine, cancel, job)
        )
        if done is not None:
            yield from audit(cancel.actor, "cancel", {"id": cancel.id})
            return done
    raise StoreBusy(
        f"job {cancel.id} was not where it should be in {CANCEL_ROUNDS_MAX} looks; cancel it again, and if that fails "
        "too, look for broken pointers with: penstock doctor --deep"
    )


def _ask_to_stop(engine: Engine, token: int) -> Steps[p.Cancelled | None]:
    asked = yield from run("ask_to_cancel", token=token)
    if not asked:
        return None
    yield from engine.wake()
    state = State.RUNNING if asked[0][0] else State.CLAIMED
    return p.Cancelled(state, state, engine.happened)


def _cancel_waiting(engine: Engine, cancel: p.CancelJob, job: Found) -> Steps[p.Cancelled | None]:
    reason = f"by {cancel.actor}"
    later = yield from engine.cancel_waiting(cancel.id, job, reason)
    if later is None:
        return None
    before = State.SCHEDULED if later else State.PENDING if job.gate is None else State.BLOCKED
    after = next_state(before, Event.CANCEL)
    engine.note((yield from tell(Event.CANCEL, [cancel.id], after, "operator", reason)))
    return p.Cancelled(before, after, engine.happened)


# Dead letters


def retry_dead(engine: Engine, retry: p.RetryDead) -> Steps[p.Retried]:
    filter = msgspec.structs.replace(retry.filter, retried=True) if retry.filter.ids else retry.filter
    yield from engine.expire()  # What reads as expired is among them.
    found = yield from engine.find_dead(filter, max(len(retry.new_ids), len(filter.ids or ())))
    refuse_unknown(filter, {dead.id for dead in found})
    chosen = list(zip(retry.new_ids, found, strict=False))
    for _, dead in chosen:
        refuse_retried(dead, retry.force)
    pairs = [(dead.id, new_id) for new_id, dead in chosen]
    if chosen:
        yield from _enqueue_again(engine, retry, chosen)
    yield from audit(retry.actor, "retry", {"jobs": pairs, "forced": retry.force})
    return p.Retried(pairs, engine.happened)


def _enqueue_again(engine: Engine, retry: p.RetryDead, chosen: list[tuple[str, DeadJob]]) -> Steps[None]:
    declared = (yield from read_types()) | retry.types
    wholes = Wholes((yield from read_limits()))
    jobs = [job_again(new_id, declared, wholes, dead) for new_id, dead in chosen]
    yield from engine.enqueue(jobs, retried_from={new_id: dead.id for new_id, dead in chosen})
    old_ids, new_ids, by = [dead.id for _, dead in chosen], [new_id for new_id, _ in chosen], f"by {retry.actor}"
    yield from run("link_retries", old_ids=old_ids, new_ids=new_ids)
    yield from run("record_retries", ids=old_ids, reason=f"{by} as ")
    for state in {dead.state for _, dead in chosen}:
        ids = [dead.id for _, dead in chosen if dead.state == state]
        engine.note((yield from tell(Event.RETRIED, ids, FINAL_STATES[state], "operator", by)))


def purge_dead(engine: Engine, purge: p.PurgeDead) -> Steps[p.Changed]:
    yield from engine.expire()
    yield from workflows.settle(engine, p.SettleWorkflows(limit=purge.limit))  # What is gone would count as completed.
    found = yield from engine.find_dead(purge.filter, max(purge.limit, len(purge.filter.ids or ())))
    refuse_unknown(purge.filter, {dead.id for dead in found})
    removed = yield from remove_jobs(engine, [dead.id for dead in found[: purge.limit]])
    if removed:
        yield from audit(purge.actor, "purge", {"jobs": removed, "filter": purge.filter})
    return p.Changed(removed, engine.happened)
