"""What people do to the flow of jobs: pause and resume queues and types, drain and resize workers."""

from __future__ import annotations

from typing import Any

import apsw

from penstock.domain.pauses import Pause, PauseKind, Pauses
from penstock.store import flow, params as p
from penstock.store.declared import make_options
from penstock.store.sqlite.statements import sql
from penstock.store.sqlite.tx import Tx, as_json, fetch


def pause_work(tx: Tx, pause: p.PauseWork) -> list[p.Switched]:
    names = flow.checked_names(pause.kind, pause.names)
    if not pause.force:
        flow.refuse_unknown_names(pause.kind, names, _known(tx, pause.kind), flow.FORCE_HINT)
    changed = {
        name: bool(tx.change("insert_pause", kind=pause.kind, name=name, now=tx.now, actor=pause.actor,
                             reason=pause.reason))
        for name in names
    }  # fmt: skip
    _switched(tx, "pause", pause.actor, pause.kind, changed, pause.reason)
    held = read_pauses(tx)
    return [p.Switched(name, new, held.find(pause.kind, name)) for name, new in changed.items()]


def resume_work(tx: Tx, resume: p.ResumeWork) -> list[p.Switched]:
    names = flow.checked_names(resume.kind, resume.names)
    held = read_pauses(tx)
    if not resume.force:
        flow.refuse_unknown_names(resume.kind, names, _known(tx, resume.kind) | held.names(resume.kind))
    changed = {name: bool(tx.change("delete_pause", kind=resume.kind, name=name)) for name in names}
    _switched(tx, "resume", resume.actor, resume.kind, changed, None)
    return [p.Switched(name, ended, held.find(resume.kind, name)) for name, ended in changed.items()]


def _switched(tx: Tx, action: str, actor: str, kind: PauseKind, changed: dict[str, bool], reason: str | None) -> None:
    names = [name for name, really in changed.items() if really]
    if names:
        tx.change("count_order")
        tx.wake = True
        _audit(tx, actor, action, {kind: names, "reason": reason})


def _known(tx: Tx, kind: PauseKind) -> set[str]:
    return flow.known_names(kind, tx.run("known_routes"), make_options(tx.run("read_types")), tx.run("known_workers"))


def read_pauses(tx: Tx) -> Pauses:
    return Pauses(list_pauses(tx.db, tx.now))


def list_pauses(db: apsw.Connection, now: int) -> list[Pause]:
    return [Pause(*row) for row in fetch(db, sql("read_pauses"), {})]


def count_open(db: apsw.Connection, now: int) -> list[p.OpenJobs]:
    return [flow.make_open(*row) for row in fetch(db, sql("count_open"), {"now": now})]


# Workers


def drain_worker(tx: Tx, drain: p.DrainWorker) -> bool:
    session, _ = _told_worker(tx, drain.worker_id)
    changed = bool(tx.change("drain_worker", session=session))
    if changed:
        _audit(tx, drain.actor, "drain", {"worker": drain.worker_id})
    tx.wake = True
    return changed


def resize_worker(tx: Tx, resize: p.ResizeWorker) -> int:
    slots = flow.check_slots(resize.slots)
    session, before = _told_worker(tx, resize.worker_id)
    flow.refuse_without_slots(resize.worker_id, before)
    tx.change("resize_worker", session=session, slots=slots)
    _audit(tx, resize.actor, "resize", {"worker": resize.worker_id, "slots": slots, "before": before})
    tx.wake = True
    return before


def _told_worker(tx: Tx, worker_id: str) -> tuple[int, int]:
    """The session and the slots of the worker that can be told something, or an error."""
    found = tx.run("find_told_worker", id=worker_id, now=tx.now)
    live = [name for (name,) in tx.run("live_workers", now=tx.now)]
    flow.refuse_absent(worker_id, [row[2:] for row in found], live)
    session, slots, *_ = found[0]
    return session, slots


def _audit(tx: Tx, actor: str, action: str, detail: Any) -> None:
    tx.change("audit", now=tx.now, actor=actor, action=action, detail=as_json(detail))
