"""Fair shares: of the jobs that a claim has leased, some may have to make room for those of other tenants."""

from __future__ import annotations

from penstock.store.contract import Claim, ClaimJobs
from penstock.store.postgres.hot.finish import end_cancelled
from penstock.store.postgres.hot.mend import soundly
from penstock.store.postgres.hot.seen import Seen
from penstock.store.postgres.hot.taken import give_back, read_claims
from penstock.store.sql.endings import AVOID_US
from penstock.store.sql.steps import Steps, run
from penstock.store.sql.turns import Share, shares_of

LOOKED_AT_MAX = 50
"""So many tenants a claim looks for; where there are more, the next one goes on after them."""


def turn_steps(seen: Seen, claim: ClaimJobs, jobs: list[Claim]) -> Steps[list[Claim]]:
    """As many jobs, with the tenants in turn."""
    eligible = seen.eligible(claim)
    settled: list[Claim | None] = list(jobs)
    back: list[Claim] = []
    for share in shares_of(seen.turns, claim, jobs, eligible.counted):
        lanes = eligible.alike.get((share.kind, share.priority), [])
        wanted = share.wanted((yield from _waiting(seen, share, lanes)))
        while wanted:
            found = yield from _take(seen, claim.session, lanes, wanted)
            more = share.took(wanted, found)
            wanted = share.wanted((yield from _waiting(seen, share, lanes))) if more else {}
        back += share.settle(settled)
    if back:
        returned = yield from give_back(seen, back)
        if len(returned) < len(back):
            seen.happened += yield from end_cancelled([job for job in back if job.token not in returned])
    return [job for job in settled if job is not None]


def _waiting(seen: Seen, share: Share, lanes: list[int]) -> Steps[list[str]]:
    """The tenants that have jobs there: those that come after the last one, then from the beginning."""
    after = seen.looked_upto.pop(share.queue, share.last)
    limit = min(share.looked_for, LOOKED_AT_MAX)
    [(found, upto)] = yield from run("waiting_tenants", lanes=lanes, after=after, limit=limit)
    if upto is not None and len(found) < share.slots:
        seen.looked_upto[share.queue] = upto
    tenants: list[str] = found
    return tenants


def _take(seen: Seen, session: int, lanes: list[int], wanted: dict[str, int]) -> Steps[list[Claim]]:
    [columns] = yield from soundly(
        "take_turns",
        session=session,
        orders=seen.orders,
        place=seen.where,
        lanes=lanes,
        orgs=list(wanted),
        counts=list(wanted.values()),
        fair=AVOID_US,
    )
    return (yield from read_claims(seen, list(columns)))
