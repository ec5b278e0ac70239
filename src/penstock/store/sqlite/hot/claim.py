"""Leasing jobs to a worker: promote what is due, expire what waited too long, take the first in order."""

from __future__ import annotations

from penstock.store.contract import Claim, Claimed, ClaimJobs
from penstock.store.sql.endings import refuse_claim
from penstock.store.sql.gating import any_limited, rest_of
from penstock.store.sql.lanes import Eligible
from penstock.store.sql.operations.figures import book_happened
from penstock.store.sql.turns import any_shared
from penstock.store.sqlite.connection.tx import Tx
from penstock.store.sqlite.hot.expiry import expire_overdue, promote_due
from penstock.store.sqlite.hot.gates import admit
from penstock.store.sqlite.hot.leasing import lease_jobs
from penstock.store.sqlite.hot.opening import open_gates
from penstock.store.sqlite.hot.taken import read_claims
from penstock.store.sqlite.hot.turns import take_turns


def claim_jobs(tx: Tx, claim: ClaimJobs) -> Claimed:
    mark = len(tx.happened)
    [(status, next_due_at, next_expiry, last_lane, stamp, token, orders, wake_at)] = tx.run(
        "before_claim", session=claim.session
    )
    if status not in ("active", "draining"):
        raise refuse_claim(status)
    if status == "draining":
        return Claimed([], tx.now, None)
    if next_due_at is not None and next_due_at <= tx.now:
        next_due_at = promote_due(tx)
    if next_expiry is not None and next_expiry <= tx.now:
        expire_overdue(tx)
    if wake_at is not None and wake_at <= tx.now:
        wake_at = open_gates(tx)
    lanes = tx.lanes.eligible(tx, claim, (last_lane, stamp), orders)
    jobs = _lease(tx, claim, lanes, token)
    if any_limited(jobs):
        jobs = _admitted(tx, claim, lanes, jobs)
        wake_at = tx.value("next_wake")
    elif any_shared(jobs):
        tx.lanes.turns.note(jobs)
    following = min((at for at in (next_due_at, wake_at) if at is not None), default=None)
    happened = tuple(tx.happened[mark:])
    if happened:
        tx.carry_out(book_happened(happened))
    return Claimed(jobs, tx.now, following, happened)


def _lease(tx: Tx, claim: ClaimJobs, lanes: Eligible, token: int) -> list[Claim]:
    """The first jobs in order, with tenants in turn; `token` is the last that was given before."""
    if not lease_jobs(tx, claim, lanes, token):
        return []
    jobs = read_claims(tx, token)
    return take_turns(tx, claim, lanes, jobs, read_claims) if any_shared(jobs) else jobs


def _admitted(tx: Tx, claim: ClaimJobs, lanes: Eligible, jobs: list[Claim]) -> list[Claim]:
    """Those that pass their gates, and instead of the others those that come next."""
    passed: list[Claim] = []
    while jobs:
        rest = rest_of(claim, passed)
        admitted, back = admit(tx, jobs, rest.limit if rest.at_once is None else rest.at_once)
        passed += admitted
        tx.lanes.turns.note(admitted)
        if back or len(passed) >= claim.limit:
            break
        jobs = _lease(tx, rest_of(claim, passed), lanes, max(job.token for job in jobs))
    return passed
