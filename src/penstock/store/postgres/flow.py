"""What people do to the flow of jobs: pause and resume queues and types, drain and resize workers.

A pause is strict: its transaction waits for the claims that are under way and holds back those that come, so that none
which ends after it has committed was decided before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.domain.pauses import Pause, PauseKind, Pauses
from penstock.store import flow, params as p
from penstock.store.postgres.read import read_types
from penstock.store.postgres.steps import Steps, run
from penstock.store.postgres.wake import wake

LOCK_WAIT_MS = 3000
"""Claims wait behind a pause that waits for one of them. One that takes longer than this has lost its client."""


def pause_steps(pause: p.PauseWork) -> Steps[list[p.Switched]]:
    names = flow.checked_names(pause.kind, pause.names)
    if not pause.force:
        flow.refuse_unknown_names(pause.kind, names, (yield from _known(pause.kind)), flow.FORCE_HINT)
    yield from _lock()
    rows = yield from run("insert_pauses", kind=pause.kind, names=list(names), actor=pause.actor, reason=pause.reason)
    changed = {name for (name,) in rows}
    yield from _switched("pause", pause.actor, pause.kind, changed, pause.reason)
    held = Pauses((yield from list_pauses()))
    return [p.Switched(name, name in changed, held.find(pause.kind, name)) for name in names]


def resume_steps(resume: p.ResumeWork) -> Steps[list[p.Switched]]:
    names = flow.checked_names(resume.kind, resume.names)
    known = yield from _known(resume.kind)
    yield from _lock()
    held = Pauses((yield from list_pauses()))
    if not resume.force:
        flow.refuse_unknown_names(resume.kind, names, known | held.names(resume.kind))
    changed = {name for (name,) in (yield from run("delete_pauses", kind=resume.kind, names=list(names)))}
    yield from _switched("resume", resume.actor, resume.kind, changed, None)
    return [p.Switched(name, name in changed, held.find(resume.kind, name)) for name in names]


def _lock() -> Steps[None]:
    yield from run("limit_lock_wait", ms=str(LOCK_WAIT_MS))
    yield from run("lock_pauses")


def _switched(action: str, actor: str, kind: PauseKind, names: set[str], reason: str | None) -> Steps[None]:
    if names:
        yield from _ordered(actor, action, {kind: sorted(names), "reason": reason})


def _ordered(actor: str, action: str, detail: Any) -> Steps[None]:
    yield from run("audit", actor=actor, action=action, detail=msgspec.json.encode(detail).decode())
    yield from run("count_order")
    yield from wake()


def _known(kind: PauseKind) -> Steps[set[str]]:
    routes: Sequence[Any] = yield from run("known_routes")
    types = yield from read_types()
    workers: Sequence[Any] = yield from run("known_workers")
    return flow.known_names(kind, routes, types, workers)


def list_pauses() -> Steps[list[Pause]]:
    rows = yield from run("read_pauses")
    return [Pause(*row) for row in rows]


def count_open() -> Steps[list[p.OpenJobs]]:
    rows = yield from run("count_open")
    return [flow.make_open(*row) for row in rows]


# Workers


def drain_steps(drain: p.DrainWorker) -> Steps[bool]:
    session, _ = yield from _told_worker(drain.worker_id)
    changed = bool((yield from run("drain_worker", session=session)))
    if changed:
        yield from _ordered(drain.actor, "drain", {"worker": drain.worker_id})
    return changed


def resize_steps(resize: p.ResizeWorker) -> Steps[int]:
    slots = flow.check_slots(resize.slots)
    session, before = yield from _told_worker(resize.worker_id)
    flow.refuse_without_slots(resize.worker_id, before)
    yield from run("resize_worker", session=session, slots=slots)
    detail = {"worker": resize.worker_id, "slots": slots, "before": before}
    yield from _ordered(resize.actor, "resize", detail)
    return before


def _told_worker(worker_id: str) -> Steps[tuple[int, int]]:
    """The session and the slots of the worker that can be told something, or an error."""
    found: Sequence[Any] = yield from run("find_told_worker", id=worker_id)
    live = [name for (name,) in (yield from run("live_workers"))]
    flow.refuse_absent(worker_id, [row[2:] for row in found], live)
    session, slots, *_ = found[0]
    return session, slots
