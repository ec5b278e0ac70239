"""What one worker does for all: leading, and the duties that its term fences."""

from __future__ import annotations

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.job import ErrorInfo
from penstock.domain.options import PRIORITY_MAX
from penstock.store import params as p, workflows
from penstock.store.endings import ending_unstarted, given_back, not_leader
from penstock.store.postgres.enqueue import resource_text
from penstock.store.postgres.expiry import expire_all
from penstock.store.postgres.finish import end_attempts
from penstock.store.postgres.mend import free_parked, tell_removed
from penstock.store.postgres.steps import Rows, Steps, run, value
from penstock.store.postgres.workflows import carry_out


def lead_steps(lead: p.LeadStore) -> Steps[p.Leadership]:
    if lead.lease is None:
        yield from run("resign", session=lead.session)
    else:
        # Those that do not lead come often, and only look: a lead that is another's is not touched.
        found = yield from run("read_leader", session=lead.session)
        if found and not found[0][4]:
            return _leadership(lead.session, found)
        yield from run("lead", session=lead.session, lease=int(lead.lease * MICROSECONDS))
    return _leadership(lead.session, (yield from run("read_leader", session=lead.session)))


def _leadership(asking: int, found: Rows) -> p.Leadership:
    if not found:
        return p.Leadership(0, False, None, 0.0)
    [(term, session, worker_id, left, _)] = found
    return p.Leadership(term, session == asking and left > 0, worker_id, max(0.0, left / MICROSECONDS))


def check_term(term: int | None) -> Steps[None]:
    """Refuse what a leader of the past still wants to do. A person has no term."""
    if term is not None and not (yield from value("check_term", term=term)):
        raise not_leader(term)


def give_back_steps(give_back: p.GiveBackJobs) -> Steps[p.GivenBack]:
    yield from check_term(give_back.term)
    timeout = int(give_back.start_timeout * MICROSECONDS)
    leases = yield from run("unstarted_leases", timeout=timeout, limit=give_back.limit)
    endings = [ending_unstarted(token, times, give_back, policy) for token, _, times, policy, _ in leases]
    if endings:
        yield from end_attempts(endings, "default")
    return given_back(leases, endings)


def expire_steps(expire: p.ExpireJobs) -> Steps[None]:
    yield from check_term(expire.term)
    yield from expire_all()


def age_steps(age: p.AgeJobs) -> Steps[int]:
    yield from check_term(age.term)
    ageing = max(1, int(age.ageing * MICROSECONDS))
    found = yield from run("aged_jobs", ageing=ageing, top=PRIORITY_MAX, limit=age.limit)
    if not found:
        return 0
    for route in sorted({(*row[:4], row[7]) for row in found}):
        names = ("type", "queue", "capability", "resources", "priority")
        yield from run("insert_lane", **dict(zip(names, route, strict=True)))
    _, _, _, _, lanes, dues, ids, priorities = (list(column) for column in zip(*found, strict=True))
    return len((yield from run("raise_jobs", lanes=lanes, dues=dues, ids=ids, priorities=priorities)))


def unroutable_steps(fail: p.FailUnroutable) -> Steps[list[str]]:
    yield from check_term(fail.term)
    rows = yield from run(
        "fail_unroutable",
        type=fail.type,
        queue=fail.queue,
        capability=fail.capability,
        resources=resource_text(fail.resources),
        limit=fail.limit,
        reason=fail.reason,
        error=msgspec.json.encode(ErrorInfo("NoEligibleWorker", fail.reason)).decode(),
    )
    tell_removed([job_id for job_id, failed in rows if not failed])
    failed = [job_id for job_id, failed in rows if failed]
    if failed:
        yield from run("leave_line", ids=failed)
    return failed


def tend_steps(tend: p.TendGates) -> Steps[None]:
    yield from check_term(tend.term)
    if tend.mend:
        yield from free_parked()
    yield from run("tend_gates")
    idle = [gate for (gate,) in (yield from run("lock_idle_gates"))]
    if idle:
        yield from run("forget_gates", gates=idle)


def settle_steps(settle: p.SettleWorkflows) -> Steps[int]:
    yield from check_term(settle.term)
    return (yield from carry_out(workflows.settle(settle)))


def mark_steps(mark: p.MarkWorkers) -> Steps[None]:
    yield from check_term(mark.term)
    lasts = int(mark.lasts * MICROSECONDS)
    marks = ((True, False, mark.failing), (False, True, mark.unreached), (False, False, mark.well))
    for failing, unreached, sessions in marks:
        if sessions:
            yield from run("mark_workers", failing=failing, unreached=unreached, lasts=lasts, sessions=list(sessions))


# Effects that a job runs at most once


def begin_once_steps(begin: p.BeginOnce) -> Steps[p.Once]:
    if (yield from value("begin_once", token=begin.token, key=begin.key)):
        return p.Once("run")
    found = yield from run("read_once", token=begin.token, key=begin.key)
    if not found:
        return p.Once("lost")
    [(token, done, stored)] = found
    if done:
        return p.Once("done", stored)
    return p.Once("run" if token == begin.token else "uncertain")


def end_once_steps(end: p.EndOnce) -> Steps[bool]:
    if end.undone:
        return bool((yield from value("forget_once", token=end.token, key=end.key)))
    return bool((yield from value("end_once", token=end.token, key=end.key, value=end.value)))
