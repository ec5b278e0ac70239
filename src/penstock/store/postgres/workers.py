"""Who is alive: registration, heartbeats, and taking back the jobs of those who are not."""

from __future__ import annotations

import random
from collections.abc import Callable

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.store import params as p
from penstock.store.endings import already_registered, ending_of_lost
from penstock.store.faults import tell_ownerless
from penstock.store.postgres.coordinate import check_term
from penstock.store.postgres.finish import end_attempts
from penstock.store.postgres.gates import limit_steps
from penstock.store.postgres.steps import Steps, run

Random = Callable[[], float]
Beats = dict[int, int]
"""The moment of the last heartbeat that was stored, by session, for the workers of this process."""


def register_steps(worker: p.RegisterWorker, beats: Beats, draw: Random = random.random) -> Steps[int]:
    yield from _end_undone(beats)
    for session, status, stale in (
        yield from run("find_worker", id=worker.worker_id, stale_after=_us(worker.stale_after))
    ):
        if not stale and session != worker.replaces:
            raise already_registered(worker.worker_id, status)
        while (yield from _recover_session(session, 1000, draw)):
            pass
    yield from run("catch_up")
    yield from run("move_tokens")
    if worker.limits is not None:
        yield from limit_steps(worker.limits)
    if worker.declared:
        names = sorted(worker.declared)
        yield from run("declare_types", names=names, options=[_json(worker.declared[name]) for name in names])
    made = yield from run(
        "insert_worker",
        id=worker.worker_id,
        host=worker.host,
        pid=worker.pid,
        version=worker.version,
        slots=worker.slots,
        types=_json(worker.types and sorted(worker.types)),
        queues=None if worker.queues is None else _json(worker.queues),
        capabilities=_json(worker.capabilities),
        resources=None if worker.resources is None else _json(worker.resources),
        stale_after=_us(worker.stale_after),
        health=worker.health,
        process=worker.process,
    )
    if not made:
        raise already_registered(worker.worker_id, "active")
    [(registered, beat)] = made
    beats[registered] = beat
    found: int = registered
    return found


def heartbeat_steps(beat: p.HeartbeatWorker, beats: Beats) -> Steps[p.Heartbeat]:
    """Each statement by itself: what is answered is stored."""
    seen = beats.get(beat.session)
    rows = yield from run("heartbeat_worker", session=beat.session, status=beat.status, seen=seen)
    if rows:
        beats[beat.session] = rows[0][0]
    else:
        yield from _end_undone(beats)
    return p.Heartbeat(bool(rows))


def _end_undone(beats: Beats) -> Steps[None]:
    """Sessions of this process that are there as they were in a restored past, if at all."""
    if beats:
        sessions, moments = (list(column) for column in zip(*beats.items(), strict=True))
        yield from run("end_undone", sessions=sessions, beats=moments)


def recover_steps(recover: p.RecoverJobs, draw: Random = random.random) -> Steps[p.Recovered]:
    yield from check_term(recover.term)
    workers: list[str] = []
    jobs: list[str] = []
    unheard = recover.unheard
    stale = yield from run(
        "stale_workers", stale_after=_us(recover.stale_after),
        sessions=None if unheard is None else [session for session, _ in unheard],
        beats=None if unheard is None else [beat for _, beat in unheard],
    )  # fmt: skip
    for session, worker_id in stale:
        if len(jobs) >= recover.limit:
            break
        jobs += yield from _recover_session(session, recover.limit - len(jobs), draw)
        workers.append(worker_id)
    if recover.mend and len(jobs) < recover.limit:
        for (session,) in (yield from run("ownerless_sessions")):
            taken = yield from _recover_session(session, recover.limit - len(jobs), draw)
            if taken:
                workers.append(tell_ownerless(session, taken))
                jobs += taken
    if recover.actor is not None and workers:
        detail = _json({"workers": workers, "jobs": jobs})
        yield from run("audit", actor=recover.actor, action="recover", detail=detail)
    return p.Recovered(workers, jobs, more=len(jobs) >= recover.limit)


def _recover_session(session: int, limit: int, draw: Random) -> Steps[list[str]]:
    """Declare the worker lost and put up to `limit` of its jobs through their retry policy."""
    yield from run("lose_worker", session=session)
    leases = yield from run("leases_of_worker", session=session, limit=limit)
    if leases:
        endings = [ending_of_lost(token, attempt, policy, draw) for token, _, attempt, policy in leases]
        yield from end_attempts(endings, "default")
    return [job_id for _, job_id, _, _ in leases]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _us(seconds: float) -> int:
    return int(seconds * MICROSECONDS)
