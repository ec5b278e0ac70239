"""Leasing jobs to a worker: promote what is due, expire what waited too long, take the first in order."""

from __future__ import annotations

import apsw
import msgspec

from penstock.domain.job import StateCode
from penstock.store.endings import refuse_claim
from penstock.store.params import Claim, Claimed, ClaimJobs
from penstock.store.sqlite.fit import lease_jobs
from penstock.store.sqlite.tx import Tx

PROMOTED_MAX = 2000
MAX_TOKEN = 2**63 - 1

_decode = msgspec.json.Decoder(list[Claim]).decode


def claim_jobs(tx: Tx, claim: ClaimJobs) -> Claimed:
    [(status, next_due_at, next_expiry, last_lane, token)] = tx.run("before_claim", session=claim.session)
    if status not in ("active", "draining"):
        raise refuse_claim(status)
    if next_due_at is not None and next_due_at <= tx.now:
        next_due_at = promote_due(tx)
    if next_expiry is not None and next_expiry <= tx.now:
        expire_overdue(tx)
    lanes = tx.lanes.eligible(tx, claim, last_lane)
    if not lease_jobs(tx, claim, lanes, token):
        return Claimed([], tx.now, next_due_at)
    return Claimed(_read_claims(tx, token), tx.now, next_due_at)


def _read_claims(tx: Tx, token: int) -> list[Claim]:
    """The claimed jobs as one document; one by one if their payloads together are too big for that."""
    try:
        return _decode(tx.value("read_claims", after=token, upto=MAX_TOKEN))
    except apsw.TooBigError:
        tokens = tx.array("tokens_after", token=token)
        return [claim for one in tokens for claim in _decode(tx.value("read_claims", after=one - 1, upto=one))]


def promote_due(tx: Tx) -> int | None:
    """Scheduled jobs whose moment has come become pending. Answers when the next one is due."""
    tx.change("ready_due_jobs", now=tx.now, limit=PROMOTED_MAX)
    tx.change("delete_due_jobs", now=tx.now, limit=PROMOTED_MAX)
    tx.wake = True
    following: int | None = tx.value("next_due")
    return following


def expire_overdue(tx: Tx) -> None:
    tx.change("expire_jobs", now=tx.now, expired=StateCode.EXPIRED)
    tx.change("unready_ended_jobs", now=tx.now)
    tx.change("delete_ttl", now=tx.now)
