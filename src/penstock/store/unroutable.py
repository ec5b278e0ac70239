"""New jobs that do not wait for a worker: what the engines judge alike when they store them (R5, A10)."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import lru_cache

import msgspec

from penstock.domain.options import Resources
from penstock.domain.routing import why_not
from penstock.domain.unroutable import why_stuck
from penstock.store.faults import tell_unreadable_worker
from penstock.store.params.jobs import Enqueued, JobSpec
from penstock.store.params.workers import WorkerStatus

OFFERS_REMEMBERED = 1000

_names = msgspec.json.Decoder(tuple[str, ...] | None).decode
_resources = msgspec.json.Decoder(Resources).decode


class Taker(msgspec.Struct, frozen=True):
    """What a live worker takes."""

    types: tuple[str, ...] | None
    queues: tuple[str, ...] | None
    capabilities: tuple[str, ...]
    resources: Resources | None


NOTHING = Taker((), None, (), None)
"""As a coordinator."""


def read_offer(worker_id: str, types: str, queues: str | None, capabilities: str, resources: str | None) -> Taker:
    """What a worker takes, as it is stored. One whose row cannot be read takes nothing."""
    try:
        return _taker(types, queues, capabilities, resources)
    except msgspec.MsgspecError as error:
        tell_unreadable_worker(worker_id, str(error))
        return NOTHING


def read_status(worker_id: str, status: str) -> WorkerStatus:
    try:
        known: WorkerStatus = msgspec.convert(status, WorkerStatus)
    except msgspec.ValidationError as error:
        tell_unreadable_worker(worker_id, str(error))
        return "inactive"
    return known


@lru_cache(OFFERS_REMEMBERED)
def _taker(types: str, queues: str | None, capabilities: str, resources: str | None) -> Taker:
    return Taker(
        types=_names(types),
        queues=None if queues is None else _names(queues),
        capabilities=_names(capabilities) or (),
        resources=None if resources is None else _resources(resources),
    )


def takers_of(rows: Iterable[tuple[str, str, str | None, str, str | None]]) -> list[Taker]:
    """Of the live workers as they are stored. Those that take no type at all are coordinators."""
    return [taker for taker in (read_offer(*row) for row in rows) if taker.types != ()]


def is_taken(spec: JobSpec, takers: Sequence[Taker]) -> bool:
    return any(not why_not(taker, spec) for taker in takers)


def reason_of(spec: JobSpec, takers: Sequence[Taker], known: Iterable[str]) -> str:
    """Why a job that nobody takes is dead; in the words of the duty that finds those that wait."""
    return f"no workers available: {why_stuck(spec, takers, sorted(known))[0]}"


def marked(answers: list[Enqueued], dead: Container[str]) -> list[Enqueued]:
    """The answers of an enqueue, of which these jobs have ended at once."""
    return [msgspec.structs.replace(one, dead=True) if one.created and one.id in dead else one for one in answers]
