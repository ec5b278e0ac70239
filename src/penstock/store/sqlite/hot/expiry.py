"""Moments that have come: what is due becomes pending, and what has waited for longer than its time-to-live ends."""

from __future__ import annotations

import logging

from penstock.domain.job import Event
from penstock.store.sql.happening import tell_expired
from penstock.store.sql.rows import EXPIRED_REASON
from penstock.store.sqlite.connection.tx import Tx
from penstock.store.sqlite.hot.finish import record_ends
from penstock.store.sqlite.hot.lines import leave_line

PROMOTED_MAX = 2000

log = logging.getLogger("penstock.store")


def catch_up(tx: Tx) -> None:
    """Do all that has come due by now, as a claim would."""
    [(next_due_at, next_expiry)] = tx.run("next_moments")
    if next_due_at is not None and next_due_at <= tx.now:
        promote_due(tx)
    if next_expiry is not None and next_expiry <= tx.now:
        expire_overdue(tx)


def promote_due(tx: Tx) -> int | None:
    """Scheduled jobs whose moment has come become pending. Answers when the next one is due."""
    moved = tx.change("ready_due_jobs", now=tx.now, limit=PROMOTED_MAX)
    odd = tx.change("delete_due_jobs", now=tx.now, limit=PROMOTED_MAX) - moved
    if odd:
        log.error("%d jobs were scheduled although they do not exist or wait elsewhere too, which was undone", odd)
    tx.wake = True
    following: int | None = tx.value("next_due")
    return following


def expire_overdue(tx: Tx) -> None:
    expired = [job_id for (job_id,) in tx.run("expire_jobs", now=tx.now, reason=EXPIRED_REASON)]
    tx.change("unready_ended_jobs", now=tx.now)
    tx.change("unpark_ended_jobs", now=tx.now)
    if expired:
        record_ends(tx, expired, Event.EXPIRE, EXPIRED_REASON)
        tx.happened += tx.carry_out(tell_expired(expired))
        leave_line(tx, tx.array("expired_in_line", now=tx.now))
    tx.change("delete_ttl", now=tx.now)
