"""What people do to jobs: cancel, retry and purge dead letters; and what retention removes."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.errors import AlreadyRetried, UnknownJob
from penstock.domain.job import DEAD_LETTERS, FINAL, Event, State, StateCode, next_state
from penstock.domain.options import NO_RESOURCES, Options, Resources, Tenant, decode_policy
from penstock.store import params as p
from penstock.store.sqlite.enqueue import enqueue_jobs
from penstock.store.sqlite.finish import remove_jobs
from penstock.store.sqlite.read import dead_where
from penstock.store.sqlite.statements import sql
from penstock.store.sqlite.tx import Tx, as_json, fetch

FINAL_STATES = {StateCode[state.name]: state for state in FINAL}


def cancel_job(tx: Tx, cancel: p.CancelJob) -> p.Cancelled:
    found = tx.run("find_job", id=cancel.id)
    if not found:
        raise UnknownJob(f"no job has the id {cancel.id}; it never existed in this store, or retention removed it")
    seq, outcome, token, started_at, due_at = found[0]
    if outcome is not None:
        return p.Cancelled(FINAL_STATES[outcome], FINAL_STATES[outcome])
    _audit(tx, cancel.actor, "cancel", {"id": cancel.id})
    if token is not None:
        tx.change("ask_to_cancel", token=token)
        tx.wake = True
        state = State.RUNNING if started_at is not None else State.CLAIMED
        return p.Cancelled(state, state)
    before = State.SCHEDULED if due_at > tx.now else State.PENDING
    tx.change("unready_job", seq=seq)
    tx.change("unschedule_job", seq=seq)
    tx.change("cancel_waiting_job", seq=seq, now=tx.now, cancelled=StateCode.CANCELLED)
    tx.change("record_step", seq=seq, now=tx.now, event=Event.CANCEL, reason=f"by {cancel.actor}")
    return p.Cancelled(before, next_state(before, Event.CANCEL))


def retry_dead(tx: Tx, retry: p.RetryDead) -> list[tuple[str, str]]:
    where, bindings = dead_where(
        msgspec.structs.replace(retry.filter, retried=True) if retry.filter.ids else retry.filter
    )
    limit = max(len(retry.new_ids), len(retry.filter.ids or ()))
    rows = fetch(tx.db, sql("find_dead").format(where=where), {**bindings, "limit": limit})
    _refuse_unknown(retry.filter, {row[1] for row in rows})
    declared = {name: msgspec.json.decode(text, type=Options) for name, text in tx.run("read_types")} | retry.types
    pairs: list[tuple[str, str]] = []
    for new_id, (seq, old_id, payload, retried_as, *old) in zip(retry.new_ids, rows, strict=False):
        if retried_as is not None and not retry.force:
            raise AlreadyRetried(f"job {old_id} was retried before as {retried_as}; use force to retry it again")
        enqueue_jobs(tx, [p.NewJob(new_id, payload, _spec_again(declared, *old))], retried_from=old_id)
        tx.change("link_retry", new_id=new_id, seq=seq)
        tx.change("record_step", seq=seq, now=tx.now, event="retried", reason=f"by {retry.actor} as {new_id}")
        pairs.append((old_id, new_id))
    _audit(tx, retry.actor, "retry", {"jobs": pairs, "forced": retry.force})
    return pairs


def _spec_again(
    declared: dict[str, Options], type_: str, queue: str, capability: str, resources: str, priority: int,
    policy: str | None, tenant: str | None, tags: str | None,
) -> p.JobSpec:  # fmt: skip
    """The spec of a retried job: its type's current options, or its own where nobody has declared the type."""
    if type_ in declared:
        spec = p.job_spec(type_, declared[type_])
    else:
        needs = msgspec.json.decode(resources, type=Resources) if resources else NO_RESOURCES
        spec = p.JobSpec(
            type=type_,
            queue=queue,
            capability=capability,
            resources=needs,
            priority=priority,
            policy=policy,
            ttl=decode_policy(policy).ttl,
        )
    return msgspec.structs.replace(
        spec,
        tenant=msgspec.json.decode(tenant, type=Tenant) if tenant else None,
        tags=tuple(msgspec.json.decode(tags)) if tags else (),
        unique=None,
    )


def _refuse_unknown(wanted: p.DeadFilter, found: set[str]) -> None:
    missing = [job_id for job_id in wanted.ids or () if job_id not in found]
    if missing:
        raise UnknownJob(f"not among the dead letters: {', '.join(missing)}; see `penstock dead list`")


def purge_dead(tx: Tx, purge: p.PurgeDead) -> int:
    where, bindings = dead_where(purge.filter)
    limit = max(purge.limit, len(purge.filter.ids or ()))
    rows = fetch(tx.db, sql("find_dead").format(where=where), {**bindings, "limit": limit})
    _refuse_unknown(purge.filter, {row[1] for row in rows})
    removed = remove_jobs(tx, as_json([row[0] for row in rows[: purge.limit]]))
    if removed:
        _audit(tx, purge.actor, "purge", {"jobs": removed, "filter": purge.filter})
    return removed


def prune_jobs(tx: Tx, prune: p.PruneJobs) -> int:
    ages = {State.COMPLETED: prune.completed_after, State.CANCELLED: prune.cancelled_after}
    if prune.dead_after is not None:
        ages |= dict.fromkeys(DEAD_LETTERS, prune.dead_after)
    removed = remove_jobs(tx, tx.value("prunable_over_count", limit=prune.limit))
    for state, age in ages.items():
        room = prune.limit - removed
        before = tx.now - int(age * MICROSECONDS)
        seqs = tx.value("prunable_jobs", state=StateCode[state.name], before=before, limit=room)
        removed += remove_jobs(tx, seqs)
    tx.change("forget_unique", now=tx.now)
    tx.change("delete_old_workers", before=tx.now - int(prune.completed_after * MICROSECONDS))
    return removed


def _audit(tx: Tx, actor: str, action: str, detail: Any) -> None:
    tx.change("audit", now=tx.now, actor=actor, action=action, detail=as_json(detail))
