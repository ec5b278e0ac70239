"""What one worker does for all: leading, and the duties that its term fences."""

from __future__ import annotations

from penstock.domain.clock import MICROSECONDS
from penstock.domain.options import PRIORITY_MAX
from penstock.store import params as p, workflows
from penstock.store.endings import ending_unstarted, given_back, not_leader
from penstock.store.sqlite import gates
from penstock.store.sqlite.expiry import catch_up
from penstock.store.sqlite.finish import end_attempts
from penstock.store.sqlite.mend import mend_gates, mend_lanes
from penstock.store.sqlite.tx import Tx, as_json, resource_text
from penstock.store.sqlite.unroutable import end_waiting
from penstock.store.sqlite.workflows import carry_out


def lead_store(tx: Tx, lead: p.LeadStore) -> p.Leadership:
    if lead.lease is None:
        tx.change("resign", session=lead.session, now=tx.now)
    elif tx.value("may_lead", session=lead.session):
        tx.change("lead", session=lead.session, lease=int(lead.lease * MICROSECONDS), now=tx.now)
    found = tx.run("read_leader")
    if not found:
        return p.Leadership(0, False, None, 0.0)
    [(term, session, worker_id, until)] = found
    left = (until - tx.now) / MICROSECONDS
    return p.Leadership(term, session == lead.session and left > 0, worker_id, max(0.0, left))


def check_term(tx: Tx, term: int | None) -> None:
    """Refuse what a leader of the past still wants to do. A person has no term."""
    if term is not None and not tx.value("check_term", term=term):
        raise not_leader(term)


def give_back_jobs(tx: Tx, give_back: p.GiveBackJobs) -> p.GivenBack:
    check_term(tx, give_back.term)
    timeout = int(give_back.start_timeout * MICROSECONDS)
    leases = tx.run("unstarted_leases", now=tx.now, timeout=timeout, limit=give_back.limit)
    endings = [ending_unstarted(token, times, give_back, policy) for token, _, times, policy, _ in leases]
    if endings:
        end_attempts(tx, endings, "default")
    return given_back(leases, endings)


def expire_jobs(tx: Tx, expire: p.ExpireJobs) -> None:
    check_term(tx, expire.term)
    catch_up(tx)


def age_jobs(tx: Tx, age: p.AgeJobs) -> int:
    check_term(tx, age.term)
    catch_up(tx)
    ageing = max(1, int(age.ageing * MICROSECONDS))
    found = tx.run("aged_jobs", now=tx.now, ageing=ageing, top=PRIORITY_MAX, limit=age.limit)
    for lane, priority, due_at, seq, raised in found:
        tx.change("raise_ready", lane=lane, priority=priority, due_at=due_at, seq=seq, raised=raised)
        tx.change("raise_job", seq=seq, raised=raised)
    return len(found)


def fail_unroutable(tx: Tx, fail: p.FailUnroutable) -> list[str]:
    check_term(tx, fail.term)
    catch_up(tx)
    found = tx.array(
        "unroutable_jobs", type=fail.type, queue=fail.queue, capability=fail.capability,
        resources=resource_text(fail.resources), limit=fail.limit,
    )  # fmt: skip
    if found:
        end_waiting(tx, found, fail.reason)
    return [job_id for _, job_id in found]


def tend_gates(tx: Tx, tend: p.TendGates) -> None:
    check_term(tx, tend.term)
    if tend.mend:
        mend_gates(tx)
        mend_lanes(tx)
    gates.tend_gates(tx)


def settle_workflows(tx: Tx, settle: p.SettleWorkflows) -> int:
    check_term(tx, settle.term)
    return carry_out(tx, workflows.settle(settle))


def mark_workers(tx: Tx, mark: p.MarkWorkers) -> None:
    check_term(tx, mark.term)
    lasts = int(mark.lasts * MICROSECONDS)
    marks = ((1, 0, mark.failing), (0, 1, mark.unreached), (0, 0, mark.well))
    for failing, unreached, sessions in marks:
        if sessions:
            tx.change(
                "mark_workers", failing=failing, unreached=unreached, lasts=lasts, sessions=as_json(list(sessions))
            )


# Effects that a job runs at most once


def begin_once(tx: Tx, begin: p.BeginOnce) -> p.Once:
    if tx.change("begin_once", token=begin.token, key=begin.key):
        return p.Once("run")
    found = tx.run("read_once", token=begin.token, key=begin.key)
    if not found:
        return p.Once("lost")
    [(token, done, value)] = found
    if done:
        return p.Once("done", value)
    return p.Once("run" if token == begin.token else "uncertain")


def end_once(tx: Tx, end: p.EndOnce) -> bool:
    if end.undone:
        return bool(tx.change("forget_once", token=end.token, key=end.key))
    return bool(tx.change("end_once", token=end.token, key=end.key, value=end.value))
