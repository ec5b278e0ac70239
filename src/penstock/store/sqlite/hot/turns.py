"""Fair shares: of the jobs that a claim has leased, some may have to make room for those of other tenants."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

from penstock.store.contract import Claim, ClaimJobs
from penstock.store.sql.endings import AVOID_US
from penstock.store.sql.lanes import Eligible
from penstock.store.sql.turns import Share, shares_of
from penstock.store.sqlite.connection.statements import sql
from penstock.store.sqlite.connection.tx import Tx, as_json
from penstock.store.sqlite.hot.leasing import lease, unready

Read = Callable[[Tx, int], list[Claim]]


def take_turns(tx: Tx, claim: ClaimJobs, lanes: Eligible, jobs: list[Claim], read: Read) -> list[Claim]:
    """As many jobs, with the tenants in turn. `read` reads what was leased after a token."""
    token = max(job.token for job in jobs)
    settled: list[Claim | None] = list(jobs)
    for share in shares_of(tx.lanes.turns, claim, jobs, lanes.counted):
        given = {"lanes": as_json(lanes.alike[share.kind, 0]), "priority": share.priority}
        wanted = share.wanted(_waiting(tx, share, given))
        while wanted:
            unready(tx, token, _lease(tx, claim.session, wanted, given))
            found = read(tx, token)
            token = max((job.token for job in found), default=token)
            wanted = share.wanted(_waiting(tx, share, given)) if share.took(wanted, found) else {}
        back = as_json([(job.token,) for job in share.settle(settled)])
        if back != "[]":
            tx.change("ready_unleased_jobs", rows=back)
            tx.change("delete_leases", rows=back)
    return [job for job in settled if job is not None]


def _lease(tx: Tx, session: int, wanted: dict[str, int], given: dict[str, object]) -> int:
    """Tenants of which the same number is wanted together. Answers how many were leased."""
    leased = 0
    for jobs in set(wanted.values()):
        tenants = as_json([tenant for tenant, count in wanted.items() if count == jobs])
        whose = {"tenants": tenants, "jobs": jobs, "session": session, "now": tx.now, "fair": tx.now - AVOID_US}
        leased += lease(tx, sql("lease_turns"), {**whose, **given})
    return leased


def _waiting(tx: Tx, share: Share, given: dict[str, object]) -> list[str]:
    """The tenants that have jobs here: those that come after the last one, and from the beginning if they are few."""
    limit = share.looked_for
    after: list[str] = tx.array("waiting_tenants", after=share.last, upto=None, limit=limit, **given)
    if len(after) == limit or not share.last:
        return after
    before = tx.array("waiting_tenants", after="", upto=share.last, limit=limit - len(after), **given)
    return list(chain(after, before))
