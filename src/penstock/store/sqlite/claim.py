"""Leasing jobs to a worker: promote what is due, expire what waited too long, take the first in order."""

from __future__ import annotations

import msgspec

from penstock.domain.errors import WorkerRefused
from penstock.domain.job import StateCode
from penstock.store.params import Claim, Claimed, ClaimJobs
from penstock.store.sqlite.tx import Tx

PROMOTED_MAX = 2000

_decode = msgspec.json.Decoder(list[Claim]).decode


def claim_jobs(tx: Tx, claim: ClaimJobs) -> Claimed:
    status = tx.value("worker_status", session=claim.session)
    if status not in ("active", "draining"):
        raise WorkerRefused(f"this worker is {status or 'not registered'}; it must register again before it claims")
    next_due_at = _promote_due(tx)
    _expire_overdue(tx)
    token = tx.value("read_token")
    count = tx.change(
        "lease_jobs",
        lanes=tx.lanes.eligible(tx, claim),
        limit=claim.limit,
        token=token,
        session=claim.session,
        now=tx.now,
    )
    if not count:
        return Claimed([], tx.now, next_due_at)
    tx.change("save_token", token=token + count)
    tx.change("unready_leased_jobs", token=token)
    return Claimed(_decode(tx.value("read_claims", token=token)), tx.now, next_due_at)


def _promote_due(tx: Tx) -> int | None:
    """Scheduled jobs whose moment has come become pending. Answers when the next one is due."""
    next_due_at: int | None = tx.value("next_due")
    if next_due_at is None or next_due_at > tx.now:
        return next_due_at
    tx.change("ready_due_jobs", now=tx.now, limit=PROMOTED_MAX)
    tx.change("delete_due_jobs", now=tx.now, limit=PROMOTED_MAX)
    tx.wake = True
    following: int | None = tx.value("next_due")
    return following


def _expire_overdue(tx: Tx) -> None:
    next_expiry = tx.value("next_expiry")
    if next_expiry is None or next_expiry > tx.now:
        return
    tx.change("expire_jobs", now=tx.now, expired=StateCode.EXPIRED)
    tx.change("unready_ended_jobs", now=tx.now)
    tx.change("delete_ttl", now=tx.now)
