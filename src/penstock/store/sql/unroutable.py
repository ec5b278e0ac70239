"""New jobs that do not wait for a worker: what the engines judge alike when they store them (R5, A10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache

import msgspec

from penstock.domain.flow.routing import why_not
from penstock.domain.flow.unroutable import why_stuck
from penstock.domain.options import Resources
from penstock.store.contract import Enqueued, Happened, JobSpec, WorkerStatus
from penstock.store.sql.declared import read_types
from penstock.store.sql.faults import tell_unreadable_worker
from penstock.store.sql.happening import told_unroutable
from penstock.store.sql.operations.flow import read_pauses
from penstock.store.sql.steps import Steps, run

OFFERS_REMEMBERED = 1000

_names = msgspec.json.Decoder(tuple[str, ...] | None).decode
_resources = msgspec.json.Decoder(Resources).decode


Hasty = tuple[JobSpec, Sequence[str]]
"""Ids of new jobs, and what they share."""
Fail = Callable[[Sequence[str], str], Steps[list[str]]]
"""How an engine ends those of these that are stored and due, for this reason; answers which."""


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


def end_new(new: Iterable[Hasty], fail: Fail) -> Steps[dict[str, Happened]]:
    """End those that do not wait for a worker, are due, and have none; answers what happened. Judged once for all that
    ask for the same.
    """
    takers = takers_of((yield from run("takers")))
    ended: dict[str, Happened] = {}
    for spec, ids in new:
        if spec.no_worker == "wait" or is_taken(spec, takers) or (yield from read_pauses()).holding(spec):
            continue
        reason = reason_of(spec, takers, (yield from read_types()))
        ended |= {job_id: told_unroutable(job_id, spec, reason) for job_id in (yield from fail(ids, reason))}
    return ended


def marked(answers: list[Enqueued], dead: Mapping[str, Happened], late: Sequence[Happened] = ()) -> list[Enqueued]:
    """The answers of an enqueue of which these jobs have ended at once, and on whose way others have expired."""
    if late:
        answers = with_late(answers, late)
    return [
        msgspec.structs.replace(one, dead=True, happened=[*one.happened, dead[one.id]])
        if one.created and one.id in dead else one
        for one in answers
    ]  # fmt: skip


def with_late(answers: list[Enqueued], late: Sequence[Happened]) -> list[Enqueued]:
    """Told with the first, whichever of the jobs wanted a key that those held."""
    return [msgspec.structs.replace(answers[0], happened=[*late, *answers[0].happened]), *answers[1:]]
