"""What people do to jobs: cancel, retry and purge dead letters; and what retention removes.

Each is one transaction that sees what others commit meanwhile (READ COMMITTED). Where two could act on one job, the
row that decides is locked or deleted first, and whoever comes second looks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import StoreBusy
from penstock.domain.gates import Wholes
from penstock.domain.job import Event, State, StateCode, next_state
from penstock.domain.options import Tenant
from penstock.store import params as p, workflows
from penstock.store.planned import missing
from penstock.store.postgres.coordinate import check_term
from penstock.store.postgres.enqueue import enqueue_steps
from penstock.store.postgres.expiry import expire_all, expire_these
from penstock.store.postgres.gates import read_limits, wake_steps
from penstock.store.postgres.read import dead_matching, is_id, read_types
from penstock.store.postgres.statements import DEFAULT_SCHEMA, sql
from penstock.store.postgres.steps import Steps, run, run_text, value
from penstock.store.postgres.wake import wake
from penstock.store.postgres.workflows import carry_out
from penstock.store.rows import (
    DeadJob,
    final_state,
    job_again,
    prune_ages,
    refuse_retried,
    refuse_unknown,
    unknown_job,
    workflow_ages,
)

CANCEL_ROUNDS_MAX = 5


# Cancel


def cancel_job(cancel: p.CancelJob) -> Steps[p.Cancelled]:
    """A claim, a finish or a recovery may move the job between looking and acting: then it is looked for again."""
    if not is_id(cancel.id):
        raise unknown_job(cancel.id)
    for look in range(CANCEL_ROUNDS_MAX):
        found = yield from run("find_job", id=cancel.id)
        if not found:
            raise (yield from carry_out(missing(cancel.id)))
        [(outcome, token, lane, due_at, gate, gates, overdue)] = found
        if outcome is not None:
            ended = final_state(cancel.id, outcome)
            return p.Cancelled(ended, ended)
        if overdue and token is None and look == 0:  # It reads as expired, and is not cancelled any more.
            yield from expire_these([cancel.id])
            continue
        if token is not None:
            done = yield from _ask_to_stop(token)
        else:
            done = yield from _cancel_waiting(cancel, lane, due_at, blocked=gate is not None)
            if done is not None and gates is not None:
                yield from run("leave_line", ids=[cancel.id])
                yield from wake_steps(gates)
        if done is not None:
            yield from _audit(cancel.actor, "cancel", {"id": cancel.id})
            return done
    raise StoreBusy(
        f"job {cancel.id} was not where it should be in {CANCEL_ROUNDS_MAX} looks; cancel it again, and if that fails "
        "too, look for broken pointers with: penstock doctor --deep"
    )


def _ask_to_stop(token: int) -> Steps[p.Cancelled | None]:
    asked = yield from run("ask_to_cancel", token=token)
    if not asked:
        return None
    yield from wake()
    state = State.RUNNING if asked[0][0] else State.CLAIMED
    return p.Cancelled(state, state)


def _cancel_waiting(cancel: p.CancelJob, lane: int, due_at: int, blocked: bool) -> Steps[p.Cancelled | None]:
    reason = f"by {cancel.actor}"
    gone = yield from run("cancel_waiting_job", id=cancel.id, lane=lane, due_at=due_at, reason=reason)
    if not gone:
        return None
    before = State.SCHEDULED if gone[0][0] else State.BLOCKED if blocked else State.PENDING
    return p.Cancelled(before, next_state(before, Event.CANCEL))


# Dead letters


def retry_dead(retry: p.RetryDead) -> Steps[list[tuple[str, str]]]:
    filter = msgspec.structs.replace(retry.filter, retried=True) if retry.filter.ids else retry.filter
    found = yield from _find_dead(filter, len(retry.new_ids))
    chosen = list(zip(retry.new_ids, found, strict=False))
    for _, dead in chosen:
        refuse_retried(dead, retry.force)
    pairs = [(dead.id, new_id) for new_id, dead in chosen]
    if chosen:
        declared, wholes = (yield from read_types()) | retry.types, Wholes((yield from read_limits()))
        jobs = [job_again(new_id, declared, wholes, dead) for new_id, dead in chosen]
        yield from enqueue_steps(jobs, retried_from={new_id: old_id for old_id, new_id in pairs})
        old_ids, new_ids = (list(ids) for ids in zip(*pairs, strict=True))
        yield from run("link_retries", old_ids=old_ids, new_ids=new_ids, reason=f"by {retry.actor} as ")
    yield from _audit(retry.actor, "retry", {"jobs": pairs, "forced": retry.force})
    return pairs


def purge_dead(purge: p.PurgeDead) -> Steps[int]:
    settle = p.SettleWorkflows(limit=purge.limit)
    yield from carry_out(workflows.settle(settle))  # What is gone would count as completed.
    found = yield from _find_dead(purge.filter, purge.limit)
    removed = yield from remove_jobs([dead.id for dead in found[: purge.limit]])
    if removed:
        yield from _audit(purge.actor, "purge", {"jobs": removed, "filter": purge.filter})
    return removed


def _find_dead(filter: p.DeadFilter, limit: int) -> Steps[list[DeadJob]]:
    """The oldest dead letters that match, locked until the end of the transaction; all that are named, or an error."""
    yield from expire_all()  # What reads as expired is among them.
    matching, bindings = dead_matching(filter)
    text = sql("find_dead", DEFAULT_SCHEMA).format(matching=matching)
    rows = yield from run_text("find_dead", text, **bindings, limit=max(limit, len(filter.ids or ())))
    found = [_dead(row) for row in rows]
    refuse_unknown(filter, {dead.id for dead in found})
    return found


def _dead(row: tuple[Any, ...]) -> DeadJob:
    *columns, org, workspace, tags = row
    return DeadJob._make([*columns, None if org is None else Tenant(org, workspace), tags])


# Retention


def prune_jobs(prune: p.PruneJobs) -> Steps[int]:
    yield from check_term(prune.term)
    over = yield from run("prunable_over_count", limit=prune.limit)
    removed = yield from remove_jobs([id_ for (id_,) in over])
    ages = {state: int(age * MICROSECONDS) for state, age in prune_ages(prune).items()}
    states = [int(StateCode[state.name]) for state in ages]
    old = yield from run("prunable_jobs", states=states, ages=list(ages.values()), limit=prune.limit - removed)
    removed += yield from remove_jobs([id_ for (id_,) in old])
    if removed < prune.limit:  # The last page of a round: what follows looks at all keys.
        yield from run("forget_unique")
        yield from carry_out(workflows.forget(workflow_ages(prune), prune.limit))
        yield from run("delete_old_workers", age=ages[State.COMPLETED])
    return removed


def remove_jobs(ids: Sequence[str]) -> Steps[int]:
    """Remove ended jobs and all that is kept of them; answers how many."""
    if not ids:
        return 0
    removed: int = yield from value("remove_jobs", ids=list(ids))
    return removed


def _audit(actor: str, action: str, detail: Any) -> Steps[None]:
    yield from run("audit", actor=actor, action=action, detail=msgspec.json.encode(detail).decode())
