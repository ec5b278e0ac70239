"""Who is alive: registration, heartbeats, and taking back the jobs of those who are not."""

from __future__ import annotations

from penstock.domain.clock import MICROSECONDS
from penstock.store import contract as p
from penstock.store.sql.endings import already_registered, ending_of_lost
from penstock.store.sql.engine import Engine
from penstock.store.sql.faults import tell_ownerless
from penstock.store.sql.gating import read_limits
from penstock.store.sql.operations.audit import audit
from penstock.store.sql.operations.duties import end_and_tell
from penstock.store.sql.operations.figures import book_page
from penstock.store.sql.operations.term import check_term
from penstock.store.sql.steps import Steps, as_json, run

RECOVERED_AT_ONCE = 1000


def register_worker(engine: Engine, worker: p.RegisterWorker) -> Steps[p.Registered]:
    yield from _end_undone(engine)
    silent: list[float] = []
    for session, status, stale in (
        yield from run("find_worker", id=worker.worker_id, stale_after=_us(worker.stale_after))
    ):
        if not stale and session != worker.replaces:
            raise already_registered(worker.worker_id, status)
        while (yield from _recover_session(engine, session, RECOVERED_AT_ONCE, silent)):
            pass
    yield from engine.begin_sessions()
    if worker.limits is not None and set(worker.limits) != set((yield from read_limits())):
        yield from engine.fix_limits(worker.limits)
    if worker.declared:
        names = sorted(worker.declared)
        yield from run("declare_types", names=names, options=[as_json(worker.declared[name]) for name in names])
    made = yield from run(
        "insert_worker",
        id=worker.worker_id,
        host=worker.host,
        pid=worker.pid,
        version=worker.version,
        slots=worker.slots,
        types=as_json(worker.types and sorted(worker.types)),
        queues=None if worker.queues is None else as_json(worker.queues),
        capabilities=as_json(worker.capabilities),
        resources=None if worker.resources is None else as_json(worker.resources),
        bell=worker.bell,
        stale_after=_us(worker.stale_after),
        health=worker.health,
        process=worker.process,
        slots_of=as_json(worker.slots_of) if worker.slots_of else None,
    )
    if not made:
        raise already_registered(worker.worker_id, "active")
    [(registered, moment)] = made
    if worker.app_version is not None:
        yield from run("insert_app_version", session=registered, version=worker.app_version)
    engine.beat(registered, moment)
    return p.Registered(registered, engine.happened, silent)


def heartbeat_worker(engine: Engine, beat: p.HeartbeatWorker) -> Steps[p.Heartbeat]:
    """On PostgreSQL each statement by itself: what is answered is stored."""
    if beat.page is not None:
        yield from book_page(beat.page)
    seen = engine.beats.get(beat.session)
    beaten = yield from run("heartbeat_worker", session=beat.session, status=beat.status, seen=seen)
    if beaten:
        engine.beat(beat.session, beaten[0][0])
    else:
        yield from _end_undone(engine)
    return p.Heartbeat(bool(beaten))


def _end_undone(engine: Engine) -> Steps[None]:
    """Sessions of this process that are there as they were in a restored past, if at all."""
    if engine.beats:
        sessions, moments = (list(column) for column in zip(*engine.beats.items(), strict=True))
        yield from run("end_undone", sessions=sessions, beats=moments)


def recover_jobs(engine: Engine, recover: p.RecoverJobs, asked_at: int | None = None) -> Steps[p.Recovered]:
    """Staleness is judged as of the question, where that was earlier: while it waited for its turn to write, heartbeats
    had to wait as well.
    """
    yield from check_term(recover.term)
    workers: list[str] = []
    jobs: list[str] = []
    silent: list[float] = []
    unheard = recover.unheard
    stale = yield from run(
        "stale_workers", asked_at=asked_at, stale_after=_us(recover.stale_after),
        sessions=None if unheard is None else [session for session, _ in unheard],
        beats=None if unheard is None else [beat for _, beat in unheard],
    )  # fmt: skip
    for session, worker_id in stale:
        if len(jobs) >= recover.limit:
            break
        jobs += yield from _recover_session(engine, session, recover.limit - len(jobs), silent)
        workers.append(worker_id)
    if recover.mend and len(jobs) < recover.limit:
        for (session,) in (yield from run("ownerless_sessions")):
            taken = yield from _recover_session(engine, session, recover.limit - len(jobs), silent)
            if taken:
                workers.append(tell_ownerless(session, taken))
                jobs += taken
    if recover.actor is not None and workers:
        yield from audit(recover.actor, "recover", {"workers": workers, "jobs": jobs})
    return p.Recovered(workers, jobs, len(jobs) >= recover.limit, engine.happened, silent)


def _recover_session(engine: Engine, session: int, limit: int, silent: list[float]) -> Steps[list[str]]:
    """Declare the worker lost and put up to `limit` of its jobs through their retry policy."""
    silent += [us / MICROSECONDS for (us,) in (yield from run("lose_worker", session=session))]
    leases = yield from run("leases_of_worker", session=session, limit=limit)
    yield from end_and_tell(
        engine, [ending_of_lost(token, attempt, policy, engine.random) for token, _, attempt, policy in leases]
    )
    return [job_id for _, job_id, _, _ in leases]


def _us(seconds: float) -> int:
    return int(seconds * MICROSECONDS)
