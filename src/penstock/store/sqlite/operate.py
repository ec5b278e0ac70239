"""What people do to jobs: cancel, retry and purge dead letters; and what retention removes."""

from __future__ import annotations

from typing import Any

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.gates import Wholes
from penstock.domain.job import Event, State, StateCode, next_state
from penstock.domain.options import Tenant
from penstock.store import params as p, workflows
from penstock.store.declared import make_options
from penstock.store.planned import missing
from penstock.store.rows import (
    DeadJob,
    final_state,
    job_again,
    prune_ages,
    refuse_retried,
    refuse_unknown,
    workflow_ages,
)
from penstock.store.sqlite.coordinate import check_term
from penstock.store.sqlite.enqueue import enqueue_jobs
from penstock.store.sqlite.expiry import catch_up
from penstock.store.sqlite.finish import remove_jobs
from penstock.store.sqlite.gates import read_limits, wake_gates_of
from penstock.store.sqlite.lines import leave_line
from penstock.store.sqlite.read import dead_where
from penstock.store.sqlite.statements import sql
from penstock.store.sqlite.tx import Tx, as_json, fetch
from penstock.store.sqlite.workflows import carry_out
from penstock.store.unreadable import part

_tenant = msgspec.json.Decoder(Tenant).decode
_tags = msgspec.json.Decoder(tuple[str, ...]).decode


def cancel_job(tx: Tx, cancel: p.CancelJob) -> p.Cancelled:
    catch_up(tx)  # What waited for too long reads as expired, and is not cancelled any more.
    found = tx.run("find_job", id=cancel.id)
    if not found:
        raise carry_out(tx, missing(cancel.id))
    seq, outcome, token, started_at, due_at, gate, gates = found[0]
    if outcome is not None:
        ended = final_state(cancel.id, outcome)
        return p.Cancelled(ended, ended)
    _audit(tx, cancel.actor, "cancel", {"id": cancel.id})
    if token is not None:
        tx.change("ask_to_cancel", token=token)
        tx.wake = True
        state = State.RUNNING if started_at is not None else State.CLAIMED
        return p.Cancelled(state, state)
    before = State.SCHEDULED if due_at > tx.now else State.PENDING if gate is None else State.BLOCKED
    tx.change("unready_job", seq=seq)
    tx.change("unschedule_job", seq=seq)
    if gates is not None:
        tx.change("unpark_job", seq=seq)
        leave_line(tx, [cancel.id])
        wake_gates_of(tx, gates)
    tx.change("cancel_waiting_job", seq=seq, now=tx.now, cancelled=StateCode.CANCELLED)
    tx.change("record_step", seq=seq, now=tx.now, event=Event.CANCEL, reason=f"by {cancel.actor}")
    return p.Cancelled(before, next_state(before, Event.CANCEL))


def retry_dead(tx: Tx, retry: p.RetryDead) -> list[tuple[str, str]]:
    catch_up(tx)  # What reads as expired is among the dead letters.
    where, bindings = dead_where(
        msgspec.structs.replace(retry.filter, retried=True) if retry.filter.ids else retry.filter
    )
    limit = max(len(retry.new_ids), len(retry.filter.ids or ()))
    found = [
        (row[0], _dead(row)) for row in fetch(tx.db, sql("find_dead").format(where=where), {**bindings, "limit": limit})
    ]
    refuse_unknown(retry.filter, {dead.id for _, dead in found})
    declared, wholes = make_options(tx.run("read_types")) | retry.types, Wholes(read_limits(tx))
    pairs: list[tuple[str, str]] = []
    for new_id, (seq, dead) in zip(retry.new_ids, found, strict=False):
        refuse_retried(dead, retry.force)
        enqueue_jobs(tx, [job_again(new_id, declared, wholes, dead)], retried_from=dead.id)
        tx.change("link_retry", new_id=new_id, seq=seq)
        tx.change("record_step", seq=seq, now=tx.now, event="retried", reason=f"by {retry.actor} as {new_id}")
        pairs.append((dead.id, new_id))
    _audit(tx, retry.actor, "retry", {"jobs": pairs, "forced": retry.force})
    return pairs


def _dead(row: tuple[Any, ...]) -> DeadJob:
    *columns, tenant, tags = row[1:]
    return DeadJob._make([*columns, part(_tenant, tenant, "tenant", row[1]), part(_tags, tags, "tags", row[1])])


def purge_dead(tx: Tx, purge: p.PurgeDead) -> int:
    catch_up(tx)
    carry_out(tx, workflows.settle(p.SettleWorkflows(limit=purge.limit)))  # What is gone would count as completed.
    where, bindings = dead_where(purge.filter)
    limit = max(purge.limit, len(purge.filter.ids or ()))
    rows = fetch(tx.db, sql("find_dead").format(where=where), {**bindings, "limit": limit})
    refuse_unknown(purge.filter, {row[1] for row in rows})
    removed = remove_jobs(tx, as_json([row[0] for row in rows[: purge.limit]]))
    if removed:
        _audit(tx, purge.actor, "purge", {"jobs": removed, "filter": purge.filter})
    return removed


def prune_jobs(tx: Tx, prune: p.PruneJobs) -> int:
    check_term(tx, prune.term)
    removed = remove_jobs(tx, tx.value("prunable_over_count", limit=prune.limit))
    for state, age in prune_ages(prune).items():
        room = prune.limit - removed
        before = tx.now - int(age * MICROSECONDS)
        seqs = tx.value("prunable_jobs", state=StateCode[state.name], before=before, limit=room)
        removed += remove_jobs(tx, seqs)
    tx.change("forget_unique", now=tx.now)
    carry_out(tx, workflows.forget(workflow_ages(prune), prune.limit))
    tx.change("delete_old_workers", before=tx.now - int(prune.completed_after * MICROSECONDS))
    return removed


def _audit(tx: Tx, actor: str, action: str, detail: Any) -> None:
    tx.change("audit", now=tx.now, actor=actor, action=action, detail=as_json(detail))
