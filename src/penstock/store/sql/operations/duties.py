"""What one worker does for all: leading, and the duties that its term fences."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.domain.clock import MICROSECONDS
from penstock.domain.job import Event, State, StateCode
from penstock.store import contract as p
from penstock.store.contract import Happened
from penstock.store.sql.endings import Ending, ending_unstarted
from penstock.store.sql.engine import Engine
from penstock.store.sql.happening import NO_WORKER, describe, describe_leases, tell, told, told_endings
from penstock.store.sql.operations.term import check_term
from penstock.store.sql.rows import prune_ages, workflow_ages
from penstock.store.sql.steps import Rows, Steps, run
from penstock.store.sql.workflows import advancing as workflows


def lead_store(lead: p.LeadStore) -> Steps[p.Leadership]:
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


# Jobs in somebody's hands


def end_and_tell(engine: Engine, endings: Sequence[Ending]) -> Steps[list[Happened]]:
    """End attempts that others have; answers what happened to their jobs, which is noted too."""
    leases = yield from describe_leases([end.token for end in endings])
    finished = (yield from engine.end_attempts(endings)) if endings else p.ALL_STORED
    happened = told_endings(leases, endings, finished.lost)
    engine.note(happened)
    return happened


def give_back_jobs(engine: Engine, give_back: p.GiveBackJobs) -> Steps[p.GivenBack]:
    yield from check_term(give_back.term)
    timeout = int(give_back.start_timeout * MICROSECONDS)
    leases = yield from run("unstarted_leases", timeout=timeout, limit=give_back.limit)
    endings = [ending_unstarted(token, times, give_back, policy) for token, times, policy in leases]
    ended = yield from end_and_tell(engine, endings)
    waiting = [one.id for one in ended if one.event is Event.GIVE_BACK]
    return p.GivenBack(waiting, [one.id for one in ended if one.event is Event.FAIL], engine.happened)


# Jobs that wait


def expire_jobs(engine: Engine, expire: p.ExpireJobs) -> Steps[p.Expired]:
    yield from check_term(expire.term)
    yield from engine.expire()
    return p.Expired(engine.happened)


def age_jobs(engine: Engine, age: p.AgeJobs) -> Steps[p.Changed]:
    yield from check_term(age.term)
    raised = yield from engine.raise_waiting(max(1, int(age.ageing * MICROSECONDS)), age.limit)
    return p.Changed(raised, engine.happened)


def fail_unroutable(engine: Engine, fail: p.FailUnroutable) -> Steps[p.Unroutable]:
    yield from check_term(fail.term)
    failed = yield from engine.fail_waiting(fail)
    engine.note((yield from tell(Event.FAIL, failed, State.DEAD, "routing", fail.reason, NO_WORKER)))
    return p.Unroutable(failed, engine.happened)


def settle_workflows(engine: Engine, settle: p.SettleWorkflows) -> Steps[p.Changed]:
    yield from check_term(settle.term)
    return (yield from workflows.settle(engine, settle))


# What is left over


def tend_gates(engine: Engine, tend: p.TendGates) -> Steps[None]:
    yield from check_term(tend.term)
    yield from engine.tend_gates(tend.mend)


def mark_workers(mark: p.MarkWorkers) -> Steps[None]:
    yield from check_term(mark.term)
    lasts = int(mark.lasts * MICROSECONDS)
    marks = ((True, False, mark.failing), (False, True, mark.unreached), (False, False, mark.well))
    for failing, unreached, sessions in marks:
        if sessions:
            yield from run("mark_workers", failing=failing, unreached=unreached, lasts=lasts, sessions=list(sessions),
                           beats=p.STALE_HEARTBEATS)  # fmt: skip


def prune_jobs(engine: Engine, prune: p.PruneJobs) -> Steps[p.Changed]:
    yield from check_term(prune.term)
    over = yield from run("prunable_over_count", limit=prune.limit)
    removed = yield from remove_jobs(engine, [id_ for (id_,) in over])
    ages = {state: int(age * MICROSECONDS) for state, age in prune_ages(prune).items()}
    states = [int(StateCode[state.name]) for state in ages]
    old = yield from run("prunable_jobs", states=states, ages=list(ages.values()), limit=prune.limit - removed)
    removed += yield from remove_jobs(engine, [id_ for (id_,) in old])
    if removed < prune.limit:  # The last page of a round: what follows looks at all keys.
        yield from run("forget_unique")
        yield from workflows.forget(workflow_ages(prune), prune.limit)
        yield from run("delete_old_workers", age=ages[State.COMPLETED])
        yield from run("forget_app_versions", age=p.KEPT_SECONDS[3600] * MICROSECONDS)
    return p.Changed(removed, engine.happened)


def remove_jobs(engine: Engine, ids: Sequence[str]) -> Steps[int]:
    if not ids:
        return 0
    described = yield from describe(ids)
    removed = yield from engine.remove(ids)
    engine.note(told(Event.REMOVE, ids, described))
    return removed
