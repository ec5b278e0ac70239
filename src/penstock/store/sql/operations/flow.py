"""What people do to the flow of jobs: pause and resume queues and types, drain and resize workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.duration import format_duration
from penstock.domain.errors import ConfigError, UnknownWorker
from penstock.domain.flow.known_names import listed, refuse_unknown_names
from penstock.domain.flow.pauses import Pause, PauseKind, Pauses
from penstock.domain.flow.slots import check_slots
from penstock.domain.options import check_name
from penstock.store import contract as p
from penstock.store.sql.declared import read_types
from penstock.store.sql.engine import Engine
from penstock.store.sql.operations.audit import audit
from penstock.store.sql.steps import Rows, Steps, run

FORCE_HINT = "; to pause one that is yet to come: --force (force=True)"

_names = msgspec.json.Decoder(tuple[str, ...] | None).decode


# Pauses


def pause_work(engine: Engine, pause: p.PauseWork) -> Steps[list[p.Switched]]:
    names = _checked_names(pause.kind, pause.names)
    if not pause.force:
        refuse_unknown_names(pause.kind, names, (yield from _known(pause.kind)), FORCE_HINT)
    yield from engine.hold_claims()
    rows = yield from run("insert_pauses", kind=pause.kind, names=list(names), actor=pause.actor, reason=pause.reason)
    changed = yield from _switched(engine, "pause", pause, names, rows, pause.reason)
    held = yield from read_pauses()
    return [p.Switched(name, name in changed, held.find(pause.kind, name)) for name in names]


def resume_work(engine: Engine, resume: p.ResumeWork) -> Steps[list[p.Switched]]:
    names = _checked_names(resume.kind, resume.names)
    known: set[str] = set() if resume.force else (yield from _known(resume.kind))
    yield from engine.hold_claims()
    held = yield from read_pauses()
    if not resume.force:
        refuse_unknown_names(resume.kind, names, known | held.names(resume.kind))
    rows = yield from run("delete_pauses", kind=resume.kind, names=list(names))
    changed = yield from _switched(engine, "resume", resume, names, rows)
    return [p.Switched(name, name in changed, held.find(resume.kind, name)) for name in names]


def _switched(
    engine: Engine, action: str, asked: p.PauseWork | p.ResumeWork, names: Sequence[str], rows: Rows,
    reason: str | None = None,
) -> Steps[list[str]]:  # fmt: skip
    """Those of the names that the rows say have changed."""
    found = {name for (name,) in rows}
    changed = [name for name in names if name in found]
    if changed:
        yield from _order(engine, asked.actor, action, {asked.kind: changed, "reason": reason})
    return changed


def _order(engine: Engine, actor: str, action: str, detail: Any) -> Steps[None]:
    """It is kept who has ordered what, and workers hear of it: those that wait, and those that claim next."""
    yield from audit(actor, action, detail)
    yield from run("count_order")
    yield from engine.wake()


def read_pauses() -> Steps[Pauses]:
    return Pauses((yield from list_pauses()))


def list_pauses() -> Steps[list[Pause]]:
    return [Pause(*row) for row in (yield from run("read_pauses"))]


# Names


def _checked_names(kind: PauseKind, names: Sequence[str]) -> tuple[str, ...]:
    """Each once, in the order given."""
    if not names:
        raise ConfigError(f"name at least one {kind}")
    return tuple(dict.fromkeys(check_name(name, kind) for name in names))


def _known(kind: PauseKind) -> Steps[set[str]]:
    """All that the store has seen: in jobs (type, queue), declared by workers, or served by them (types, queues)."""
    column = 0 if kind == "type" else 1
    found: set[str] = {route[column] for route in (yield from run("known_routes"))}
    types = yield from read_types()
    found |= set(types) if kind == "type" else {options.queue for options in types.values()}
    return found.union(*(_served(row[column]) for row in (yield from run("known_workers"))))


def _served(names: str | None) -> tuple[str, ...]:
    """None where all are served, or where nobody can read which."""
    try:
        return () if names is None else _names(names) or ()
    except msgspec.MsgspecError:
        return ()


# Workers


def drain_worker(engine: Engine, drain: p.DrainWorker) -> Steps[bool]:
    session, _ = yield from _told_worker(drain.worker_id)
    changed = bool((yield from run("drain_worker", session=session)))
    if changed:
        yield from _order(engine, drain.actor, "drain", {"worker": drain.worker_id})
    return changed


def resize_worker(engine: Engine, resize: p.ResizeWorker) -> Steps[int]:
    slots = check_slots(resize.slots)
    session, before = yield from _told_worker(resize.worker_id)
    _refuse_without_slots(resize.worker_id, before)
    yield from run("resize_worker", session=session, slots=slots)
    yield from _order(engine, resize.actor, "resize", {"worker": resize.worker_id, "slots": slots, "before": before})
    return before


def _told_worker(worker_id: str) -> Steps[tuple[int, int]]:
    """The session and the slots of the worker that can be told something, or an error."""
    found: Sequence[Any] = yield from run("find_told_worker", id=worker_id)
    live = [name for (name,) in (yield from run("live_workers"))]
    _refuse_absent(worker_id, [row[2:] for row in found], live)
    session, slots, *_ = found[0]
    return session, slots


def _refuse_without_slots(worker_id: str, slots: int) -> None:
    """An error for one that runs no jobs, and has none for that reason."""
    if slots == 0:
        raise UnknownWorker(f"{worker_id!r} is a coordinator: it runs no jobs, so it has no slots")


def _refuse_absent(worker_id: str, found: Sequence[tuple[str, int, int]], live: Sequence[str]) -> None:
    """An error unless the newest worker with this id is alive: (status, silent, stale after), in microseconds."""
    alive = f"alive are: {listed(live)}" if live else "no worker is alive"
    if not found:
        raise UnknownWorker(f"no worker has the id {worker_id!r} in this store; {alive}")
    [(status, silent, stale_after)] = found
    if status not in ("active", "draining"):
        ended = "was lost" if status == "lost" else "has ended"
        raise UnknownWorker(f"the worker {worker_id!r} {ended}, so nobody would hear this; {alive}")
    if silent > stale_after:
        since = format_duration(round(silent / MICROSECONDS))
        raise UnknownWorker(
            f"the worker {worker_id!r} was last heard of {since} ago, so it may be dead; its jobs are taken back by "
            "the others, or with: penstock recover"
        )
