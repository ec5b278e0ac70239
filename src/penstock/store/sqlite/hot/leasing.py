"""Leasing the first jobs in order: all of them, or those that fit together into what the worker has free.

Leases of what does not fit are taken back in the same transaction, before anybody has seen them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import apsw

from penstock.domain.clock import MICROSECONDS
from penstock.domain.flow.claim_budget import PASSED_OVER_SECONDS_MAX, ClaimBudget, Needs
from penstock.store.contract import ClaimJobs
from penstock.store.sql.endings import AVOID_US
from penstock.store.sql.lanes import Eligible
from penstock.store.sqlite.connection.statements import sql
from penstock.store.sqlite.connection.tx import Tx, as_json
from penstock.store.sqlite.hot import mend

TOKENS_BEHIND_US = 100_000
"""Tokens follow the clock, no further behind than this: those that were given out in a past which a restored backup has
undone, and which a worker may still hold, are not given out again."""
PASSED_OVER_US = int(PASSED_OVER_SECONDS_MAX * MICROSECONDS)


def lease_jobs(tx: Tx, claim: ClaimJobs, lanes: Eligible, token: int) -> bool:
    """Lease up to the limit, with tokens above this one. False when there was nothing."""
    if lanes.scarce:
        return _lease_what_fits(tx, claim, lanes, token)
    leased = _lease(tx, claim.session, as_json(lanes.all), claim.limit, token)
    if leased:
        unready(tx, token, leased)
    return leased > 0


def _lease(tx: Tx, session: int, lanes: str, limit: int, token: int) -> int:
    behind = token < tx.now - TOKENS_BEHIND_US
    given = {"lanes": lanes, "limit": limit, "session": session, "now": tx.now, "fair": tx.now - AVOID_US}
    leased = lease(tx, _lease_statement(behind), given)
    if not leased and mend.unblock(tx, given):
        leased = lease(tx, _lease_statement(behind), given)
    return leased


def lease(tx: Tx, statement: str, given: dict[str, Any]) -> int:
    """How many were leased. If one of them cannot be, what contradicts the other tables goes, and it is tried again."""
    try:
        tx.db.execute(statement, given)
    except apsw.ConstraintError:
        if not mend.mend_ready(tx):
            raise
        tx.db.execute(statement, given)
    return tx.db.changes()


def unready(tx: Tx, token: int, leased: int) -> None:
    """So many jobs were leased after this token and do not wait any more."""
    if tx.change("unready_leased_jobs", token=token) < leased:
        mend.place_displaced(tx, token)


@cache
def _lease_statement(behind: bool) -> str:
    """Numbering by hand costs something for each job, so the next ones are as the table numbers them, for a while."""
    column, token = ("token,", ":now + row_number() OVER (),") if behind else ("", "")
    return sql("lease_jobs").format(column=column, token=token)


def _lease_what_fits(tx: Tx, claim: ClaimJobs, lanes: Eligible, token: int) -> bool:
    """Take in order what fits. A lane of which something did not is left out, and the rest is looked through again."""
    room = ClaimBudget(claim.free or claim.resources, claim.caps)
    scarce, left = dict(lanes.scarce), claim.limit
    while left > 0:
        scarce = {lane: needs for lane, needs in scarce.items() if room.fits(needs)}
        _hold_for_those_passed_over(tx, room, lanes, scarce)
        if not _lease(tx, claim.session, as_json([*lanes.plain, *scarce]), left, token):
            break
        leased = tx.run("leased_after", token=token)
        refused = [row for row in leased if not _fits(row, room, lanes.scarce, tx.now - PASSED_OVER_US)]
        if refused:
            tx.change("delete_leases", rows=as_json([(row[0],) for row in refused]))
        if len(refused) < len(leased):
            unready(tx, token, len(leased) - len(refused))
        token, left = leased[-1][0], left - len(leased) + len(refused)
        if not refused:
            break
        for row in refused:
            scarce.pop(row[1], None)
    return left < claim.limit


def _fits(row: Any, room: ClaimBudget, scarce: dict[int, Any], overdue: int) -> bool:
    """Whether this job may be taken; if so, it is counted."""
    _, lane, priority, due_at, seq = row
    needs: Needs | None = scarce.get(lane)
    if needs is None:
        return True
    place = (-priority, due_at, seq)
    if room.fits(needs) and room.allows(needs, place):
        room.take(needs)
        return True
    if due_at <= overdue:
        room.hold_for(needs, place)
    return False


def _hold_for_those_passed_over(tx: Tx, room: ClaimBudget, lanes: Eligible, fitting: Iterable[int]) -> None:
    """Jobs that this worker could run, but not now, and that have waited for long: see domain/flow/claim_budget.py."""
    waiting = sorted(lanes.scarce.keys() - set(fitting))
    if waiting:
        overdue = tx.now - PASSED_OVER_US
        for lane, priority, due_at, seq in tx.run("overdue_heads", lanes=as_json(waiting), overdue=overdue):
            room.hold_for(lanes.scarce[lane], (-priority, due_at, seq))
