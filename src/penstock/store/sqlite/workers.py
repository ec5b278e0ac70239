"""Who is alive: registration, heartbeats, and taking back the jobs of those who are not."""

from __future__ import annotations

from typing import Any

import apsw
import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.store import params as p
from penstock.store.endings import already_registered, ending_of_lost
from penstock.store.faults import tell_ownerless
from penstock.store.rows import WORKERS_LISTED
from penstock.store.sqlite.coordinate import check_term
from penstock.store.sqlite.finish import end_attempts
from penstock.store.sqlite.gates import fix_limits
from penstock.store.sqlite.mend import UNREADABLE
from penstock.store.sqlite.statements import sql
from penstock.store.sqlite.tx import Tx, as_json, fetch
from penstock.store.unroutable import NOTHING, read_offer, read_status

_workers = msgspec.json.Decoder(list[p.WorkerInfo]).decode


def register_worker(tx: Tx, worker: p.RegisterWorker) -> int:
    _end_undone(tx)
    found = tx.run("find_worker", id=worker.worker_id)
    if found:
        session, status, heartbeat_at, stale_after = found[0]
        # A last beat so far ahead is from before the clock was set back: whoever lives has been heard of since.
        recent = abs(tx.now - heartbeat_at) < max(_us(worker.stale_after), stale_after)
        if recent and session != worker.replaces:
            raise already_registered(worker.worker_id, status)
        while _recover_session(tx, session, limit=1000):
            pass
    if not tx.change("move_tokens", now=tx.now):
        tx.change("begin_tokens", now=tx.now)
    if worker.limits is not None:
        fix_limits(tx, worker.limits)
    for name, options in worker.declared.items():
        tx.change("declare_type", name=name, options=as_json(options), now=tx.now)
    tx.change(
        "insert_worker",
        id=worker.worker_id,
        host=worker.host,
        pid=worker.pid,
        version=worker.version,
        slots=worker.slots,
        queues=as_json(worker.queues) if worker.queues is not None else None,
        capabilities=as_json(worker.capabilities),
        resources=as_json(worker.resources) if worker.resources is not None else None,
        types=as_json(worker.types and sorted(worker.types)),
        bell=worker.bell,
        now=tx.now,
        stale_after=_us(worker.stale_after),
        health=worker.health,
        process=worker.process,
    )
    tx.beat = tx.db.last_insert_rowid()
    return tx.beat


def heartbeat_worker(tx: Tx, beat: p.HeartbeatWorker) -> p.Heartbeat:
    seen = tx.lanes.beats.get(beat.session)
    known = bool(tx.change("heartbeat_worker", session=beat.session, status=beat.status, now=tx.now, seen=seen))
    if known:
        tx.beat = beat.session
    else:
        _end_undone(tx)
    return p.Heartbeat(known)


def _end_undone(tx: Tx) -> None:
    """Sessions of this process that are there as they were in a restored past, if at all."""
    if tx.lanes.beats:
        tx.change("end_undone", beats=as_json(list(tx.lanes.beats.items())))


def recover_jobs(tx: Tx, recover: p.RecoverJobs, asked_at: int) -> p.Recovered:
    check_term(tx, recover.term)
    # Staleness is judged as of the question: while it waited for the write lock, heartbeats had to wait as well.
    now = min(tx.now, asked_at)
    workers: list[str] = []
    jobs: list[str] = []
    unheard = None if recover.unheard is None else as_json(recover.unheard)
    stale = tx.run("stale_workers", now=now, stale_after=_us(recover.stale_after), unheard=unheard)
    for session, worker_id in stale:
        if len(jobs) >= recover.limit:
            break
        jobs += _recover_session(tx, session, recover.limit - len(jobs))
        workers.append(worker_id)
    if recover.mend and len(jobs) < recover.limit:
        for (session,) in tx.run("ownerless_sessions"):
            taken = _recover_session(tx, session, recover.limit - len(jobs))
            if taken:
                workers.append(tell_ownerless(session, taken))
                jobs += taken
    if recover.actor is not None and workers:
        detail = as_json({"workers": workers, "jobs": jobs})
        tx.change("audit", now=tx.now, actor=recover.actor, action="recover", detail=detail)
    return p.Recovered(workers, jobs, more=len(jobs) >= recover.limit)


def _recover_session(tx: Tx, session: int, limit: int) -> list[str]:
    """Declare the worker lost and put up to `limit` of its jobs through their retry policy."""
    tx.change("lose_worker", session=session)
    leases = tx.run("leases_of_worker", session=session, limit=limit)
    if leases:
        endings = [ending_of_lost(token, attempt, policy, tx.random) for token, _, attempt, policy in leases]
        end_attempts(tx, endings, "default")
    return [job_id for _, job_id, _, _ in leases]


def list_workers(db: apsw.Connection, now: int) -> list[p.WorkerInfo]:
    given = {"now": now, "latest": WORKERS_LISTED}
    try:
        return _workers(db.execute(sql("list_workers"), {**given, "unreadable": "[]"}).get)
    except UNREADABLE:  # One row of them; of it is shown what can be, since its jobs may have to be taken back.
        unreadable = [session for session, *row in fetch(db, sql("read_offers"), {}) if not _is_readable(*row)]
        return _workers(db.execute(sql("list_workers"), {**given, "unreadable": as_json(unreadable)}).get)


def _is_readable(id_: str, status: str, *offer: Any) -> bool:
    return read_offer(id_, *offer) is not NOTHING and read_status(id_, status) == status


def _us(seconds: float) -> int:
    return int(seconds * MICROSECONDS)
