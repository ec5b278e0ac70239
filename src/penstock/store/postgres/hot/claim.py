"""Leasing jobs to a worker: the first in order over the lanes that it may take from.

What a connection knows of the lanes (`Seen`) makes a claim cost the same with any backlog and under any long
transaction: where each lane goes on, as of a snapshot. Everything that became visible since is found by the
transaction that inserted it. See docs/decisions/0011-postgres-storage.md.
"""

from __future__ import annotations

import time
from heapq import nsmallest

import psycopg

from penstock.domain.clock import MICROSECONDS
from penstock.domain.flow.claim_budget import PASSED_OVER_SECONDS_MAX, ClaimBudget
from penstock.domain.job import Event
from penstock.domain.options import NO_RESOURCES
from penstock.store.contract import Claim, Claimed, ClaimJobs
from penstock.store.postgres.hot.expiry import expire_all
from penstock.store.postgres.hot.finish import end_cancelled
from penstock.store.postgres.hot.mend import is_passing, log, soundly
from penstock.store.postgres.hot.seen import Seen
from penstock.store.postgres.hot.taken import admit, read_claims
from penstock.store.postgres.hot.turns import turn_steps
from penstock.store.sql.endings import AVOID_US, refuse_claim
from penstock.store.sql.gating import any_limited, rest_of
from penstock.store.sql.lanes import Eligible, Lane
from penstock.store.sql.operations.figures import book_happened
from penstock.store.sql.rows import read_resources
from penstock.store.sql.steps import Steps, run, value
from penstock.store.sql.turns import any_shared

EXPIRED_AGAIN_SECONDS = 60.0
FLOOD = 200_000
SHARE_MIN = 4
JOBS_MAX = 1000  # As the statement says.
ROUNDS_MAX = 100
OPENED_MAX = 10
PASSED_OVER_US = int(PASSED_OVER_SECONDS_MAX * MICROSECONDS)


def claim_steps(claim: ClaimJobs, seen: Seen) -> Steps[Claimed]:
    """Each statement is a transaction of its own."""
    seen.judged, seen.happened = False, []
    claimed = yield from _gather(seen, claim)
    jobs = yield from _admitted(seen, claim, claimed.jobs)
    for _ in range(OPENED_MAX):
        if seen.wake_at is None or seen.wake_at > claimed.claimed_at:
            break
        yield from _open_gates()
        rest = rest_of(claim, jobs)
        if rest.limit > 0:
            claimed = yield from _gather(seen, rest)
            jobs += yield from _admitted(seen, rest, claimed.jobs)
        if jobs or rest.limit <= 0:  # Else who was let through may not exist, and another be next.
            break
    moments = [at for at in (claimed.next_due_at, seen.wake_at) if at is not None]
    uncounted = [one for one in seen.happened if one.event is not Event.EXPIRE]
    if uncounted:
        yield from book_happened(uncounted)
    return Claimed(jobs, claimed.claimed_at, min(moments, default=None), tuple(seen.happened))


def _open_gates() -> Steps[None]:
    """A limit whose row nobody can reckon with fails no claim of those that have passed, or have none."""
    try:
        yield from soundly("open_gates")
    except psycopg.DataError as error:
        log.error("the limits could not be opened for those who wait, which is tried again: %s", error)


def _admitted(seen: Seen, claim: ClaimJobs, jobs: list[Claim]) -> Steps[list[Claim]]:
    """Those that pass their gates, and instead of the others those that come next."""
    passed: list[Claim] = []
    while any_limited(jobs):
        rest = rest_of(claim, passed)
        admitted, back, cancelled = yield from admit(seen, jobs, rest.limit if rest.at_once is None else rest.at_once)
        if cancelled:
            seen.happened += yield from end_cancelled(cancelled)
        passed += admitted
        seen.turns.note(admitted)
        seen.wake_at = yield from value("next_wake")
        if back or len(passed) >= claim.limit:
            return passed
        jobs = (yield from _gather(seen, rest_of(claim, passed))).jobs
    if any_shared(jobs):
        seen.turns.note(jobs)
    return passed + jobs


def _gather(seen: Seen, claim: ClaimJobs) -> Steps[Claimed]:
    """A claim that comes up short looks again where there may be more."""
    if seen.upto is None:
        yield from _look_at_all(seen)
    room = ClaimBudget(claim.free or claim.resources, claim.caps)
    jobs: list[Claim] = []
    for _ in range(ROUNDS_MAX):
        claimed, again = yield from _claim_more(seen, claim, room, claim.limit - len(jobs))
        jobs += claimed.jobs
        if not jobs and not again and seen.heads_are_due():
            yield from _look_at_all(seen)
            again = True
        if not again or len(jobs) >= claim.limit:
            break
    if any_shared(jobs):
        jobs = yield from turn_steps(seen, claim, jobs)
    return Claimed(jobs, claimed.claimed_at, claimed.next_due_at)


def _claim_more(seen: Seen, claim: ClaimJobs, room: ClaimBudget, limit: int) -> Steps[tuple[Claimed, bool]]:
    eligible = seen.eligible(claim)
    if not eligible.scarce:
        return (yield from _claim(seen, claim.session, limit, eligible.all))
    if any(_is_passed_over(seen, lane, room) for lane in eligible.scarce):
        learnt = yield from _set_aside(seen, claim.session, eligible, room)
        if learnt:
            return Claimed([], seen.now, None), True
    claimed, again = yield from _claim_what_fits(seen, claim.session, limit, eligible, room)
    later = [seen.first[lane][0] for lane in eligible.all if lane in seen.first]
    due = min((due for due in later if due > claimed.claimed_at), default=None)
    return Claimed(claimed.jobs, claimed.claimed_at, due), again


def _claim_what_fits(
    seen: Seen, session: int, limit: int, eligible: Eligible, room: ClaimBudget
) -> Steps[tuple[Claimed, bool]]:
    """First no more than surely fits, in order; then of what needs nothing, up to the next that needs something."""
    fitting = [lane for lane in eligible.scarce if room.fits(seen.lanes[lane]) and _is_allowed(seen, lane, room)]
    if not fitting:
        return (yield from _claim(seen, session, limit, eligible.plain))
    surely = 1 if room.holding else room.surely(seen.lanes[lane] for lane in fitting)
    count = min(limit, surely, JOBS_MAX)
    claimed, again = yield from _claim(seen, session, count, [*eligible.plain, *fitting])
    for job in claimed.jobs:
        room.take(Lane(job.type, job.queue, "", job.resources or NO_RESOURCES, job.priority))
    if len(claimed.jobs) < count or count == limit:
        return claimed, again
    due = [lane for lane in fitting if lane in seen.first and seen.first[lane][0] <= seen.now]
    until = min(due, key=seen.place, default=None)
    more, _ = yield from _claim(seen, session, limit - count, eligible.plain, until)
    return Claimed(claimed.jobs + more.jobs, more.claimed_at, None), True


def _is_passed_over(seen: Seen, lane: int, room: ClaimBudget) -> bool:
    """Whether the first job of a lane does not fit and was due for too long."""
    overdue = lane in seen.first and seen.first[lane][0] <= seen.now - PASSED_OVER_US
    return overdue and not room.fits(seen.lanes[lane])


def _is_allowed(seen: Seen, lane: int, room: ClaimBudget) -> bool:
    return not room.holding or (lane in seen.first and room.allows(seen.lanes[lane], seen.place(lane)))


def _set_aside(seen: Seen, session: int, eligible: Eligible, room: ClaimBudget) -> Steps[bool]:
    """Hold what a job needs that was passed over for too long, if it is still there. True when lanes or orders were
    learnt of, so that others may be eligible.

    To keep to the order it must be known where the lanes go on: what is new, and what others have taken meanwhile.
    """
    known = len(seen.lanes), seen.orders
    yield from _claim(seen, session, 0, eligible.all)
    if (len(seen.lanes), seen.orders) != known:
        return True
    lanes = [lane for lane in eligible.scarce if lane in seen.first]
    for lane, due, id_ in (yield from run(
        "heads_of",
        lanes=lanes,
        dues=[seen.first[lane][0] for lane in lanes],
        ids=[seen.first[lane][1] for lane in lanes],
    )):  # fmt: skip
        seen.go_on(lane, due, id_)
    for lane in lanes:
        if _is_passed_over(seen, lane, room):
            room.hold_for(seen.lanes[lane], seen.place(lane))
    return False


def _look_at_all(seen: Seen) -> Steps[None]:
    began = time.monotonic()
    before = seen.where
    [(snapshot, seen.where, now, lanes, dues, ids)] = yield from run("heads")
    seen.note(now)
    yield from _read_lanes(seen)  # After the heads, so that every lane of theirs is known.
    if seen.orders is None or seen.where != before:
        yield from _read_orders(seen)
    if before and seen.where != before:  # Restored from a backup: its tokens were given out before.
        yield from run("leap_tokens")
        seen.expired_upto = 0
    seen.look(snapshot)
    seen.first = {lane: (due, id_) for lane, due, id_ in zip(lanes or (), dues or (), ids or (), strict=True)}
    seen.headed_at = time.monotonic()
    seen.headed_for = seen.headed_at - began


def _read_lanes(seen: Seen) -> Steps[None]:
    # All of them: a lane with a smaller number may have been committed after one with a larger.
    rows = yield from run("read_lanes", known=0)
    seen.learn(
        {
            number: Lane(type_, queue, capability, read_resources(resources), priority)
            for number, type_, queue, capability, resources, priority in rows
        }
    )


def _read_orders(seen: Seen) -> Steps[None]:
    [(orders, queues, types)] = yield from run("read_orders")
    seen.heed(orders, queues, types)


def _claim(
    seen: Seen, session: int, limit: int, eligible: list[int], until: int | None = None
) -> Steps[tuple[Claimed, bool]]:
    """One claim, of what comes before the first job of the lane `until`. The second answer is whether another may find
    more: something was learnt, and jobs are due.
    """
    limit = min(limit, JOBS_MAX)
    active, left_out = _nearest(seen, eligible)
    beyond = min((lane for lane in (left_out, until) if lane is not None), key=seen.place, default=None)
    positions = [seen.first[lane] for lane in active]
    horizon = seen.horizon
    [answer] = yield from soundly(
        "claim_jobs" if len(active) > 1 or beyond is not None else "claim_one_lane",
        session=session,
        limit=limit,
        share=max(SHARE_MIN, 2 * limit // max(1, len(active))),
        upto=seen.upto,
        open=seen.open,
        lanes=active,
        dues=[due for due, _ in positions],
        ids=[id_ for _, id_ in positions],
        priorities=[seen.lanes[lane].priority for lane in active],
        eligible=eligible,
        known=len(seen.lanes),
        orders=seen.orders,
        place=seen.where,
        horizon=horizon,
        expired=seen.expired_upto,
        flood=FLOOD,
        fair=AVOID_US,
        beyond_lane=beyond,
        beyond_priority=None if beyond is None else seen.lanes[beyond].priority,
        beyond_due=None if beyond is None else seen.first[beyond][0],
        beyond_id=None if beyond is None else seen.first[beyond][1],
    )
    status, now, snapshot, elsewhere, flooded, strange, ordered, overdue, seen.wake_at, *rest = answer
    new, new_dues, new_ids, lanes, dues, ids, *columns = rest
    # Who is marked in the midst of a claim gets no more, and is told of what it holds by then: from one that is heard
    # of, only the start timeout would take it. What a lost one held is taken already.
    if status not in ("active", "draining") and not (status == "failing" and seen.judged):
        seen.upto = None
        raise refuse_claim(status)
    seen.judged = True
    seen.note(now)
    if elsewhere or flooded:  # Nothing was taken. What is known of other tables says nothing of these.
        yield from _look_at_all(seen)
        return Claimed([], now, None), True
    if ordered:
        yield from _read_orders(seen)
    if strange:
        yield from _read_lanes(seen)
    if ordered or strange:
        return Claimed([], now, None), True
    jobs = yield from read_claims(seen, columns)
    wider = seen.adapt(limit, jobs, narrow=left_out is not None)
    seen.look(snapshot)
    for lane, due, id_ in zip(new or (), new_dues or (), new_ids or (), strict=True):
        seen.first[lane] = min((due, id_), seen.first.get(lane, (due, id_)))
    for lane, due, id_ in zip(lanes or (), dues or (), ids or (), strict=True):
        seen.go_on(lane, due, id_, horizon)
    yield from _expire(seen, overdue, now)
    firsts = [seen.first[lane][0] for lane in eligible if lane in seen.first]
    learnt = bool(new) or [seen.first.get(lane) for lane in active] != positions
    later = min((due for due in firsts if due > now), default=None)
    return Claimed(jobs, now, later), wider or (learnt and any(due <= now for due in firsts))


def _nearest(seen: Seen, eligible: list[int]) -> tuple[list[int], int | None]:
    """The lanes to look into, and the first of those that are left out: with many, only the nearest.

    Lanes in which nothing is due come last, whatever their priority.
    """
    active = [lane for lane in eligible if lane in seen.first]
    if len(active) <= seen.width:
        return active, None

    now = seen.now

    def turn(lane: int) -> tuple[bool, int, int, str]:
        due, id_ = seen.first[lane]
        return due > now, -seen.lanes[lane].priority, due, id_

    nearest = nsmallest(seen.width + 1, active, key=turn)
    beyond = nearest.pop()
    return nearest, None if seen.first[beyond][0] > now else beyond


def _expire(seen: Seen, overdue: bool, now: int) -> Steps[None]:
    """End what waited for too long. Only the rows since the last look are asked for; now and then, all."""
    if overdue:
        try:
            seen.happened += yield from expire_all(counts=True)
        except psycopg.Error as error:
            if not is_passing(error):
                raise
            log.error("jobs that have waited for too long could not be ended, which is tried again: %s", error)
    seen.expired_upto = now
    if time.monotonic() - seen.expired_at > EXPIRED_AGAIN_SECONDS:
        seen.expired_upto, seen.expired_at = 0, time.monotonic()
