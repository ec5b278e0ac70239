"""Fair shares: no tenant has two turns in a row while a job of another waits that could have been given out instead."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from tests.checker.evidence import Lease, Life
from tests.checker.history import NEVER
from tests.checker.rules.rule import Broken, Case, rule

Kind = tuple[str, str, int]


class Waiting(NamedTuple):
    """A job that could have been given out during all of this time."""

    tenant: str
    since: int
    until: int
    id: str


@rule("No tenant has two turns in a row at one worker while a job of another waits that is like the second.")
def turns_of_tenants(case: Case) -> Iterator[Broken]:
    waiting = _waiting(case)
    for turns in _turns(case).values():
        for (first, _), (second, life) in pairwise(turns):
            tenant = _tenant(life)
            if life.raised or tenant != _tenant(case.evidence.lives[first.id]):
                continue
            for other in waiting[_kind(life)]:
                if other.tenant != tenant and other.since < first.claim.begun and other.until > second.claim.ended:
                    message = f"tenant {tenant!r} had two turns in a row, jobs {first.id} and {second.id}, while job "
                    message += f"{other.id} of {other.tenant!r} waited"
                    yield Broken(message, jobs=(first.id, second.id, other.id), at=second.claim.ended)
                    break


def _turns(case: Case) -> dict[tuple[object, ...], list[tuple[Lease, Life]]]:
    """What was given out to each worker of each queue, in order. What an unknown claim gave out, nobody can say."""
    turns: dict[tuple[object, ...], list[tuple[Lease, Life]]] = defaultdict(list)
    unknown = Counter[str]()
    for claim in case.history.of("claim"):
        unknown[claim.process] += not claim.ok
        for told in claim.told.jobs if claim.ok else ():
            life = case.evidence.lives[told.id]
            if life.job is not None and life.job.tenant is not None and life.job.queue in case.bounds.turns:
                row = turns[claim.told.session, unknown[claim.process], life.job.queue]
                row.append((case.evidence.leases[told.token], life))
    return turns


def _waiting(case: Case) -> dict[Kind, list[Waiting]]:
    """Jobs that were due from the start, and of which it is sure that nobody had them before they were given out."""
    found: dict[Kind, list[Waiting]] = defaultdict(list)
    for life in case.evidence.lives.values():
        stored, job = life.stored_by, life.job
        unsure = life.raised or life.taken or life.cancels or life.failed or _was_held_by_nobody_known(life)
        if (
            stored is not None
            and job is not None
            and job.tenant
            and not job.delay
            and job.at is None
            and not job.ttl
            and not unsure
        ):
            until = life.leases[0].claim.begun if life.leases else NEVER
            found[_kind(life)].append(Waiting(job.tenant, stored.ended, until, life.id))
    return found


def _was_held_by_nobody_known(life: Life) -> bool:
    """Whether a claim that nobody has heard of may have had it, and somebody took it back."""
    again = bool(life.leases) and life.leases[0].attempt > 1
    return again or not life.true or any(job.history for job in life.true)


def _kind(life: Life) -> Kind:
    assert life.job is not None
    return life.job.type, life.job.queue, life.job.priority


def _tenant(life: Life) -> str:
    assert life.job is not None
    assert life.job.tenant is not None
    return life.job.tenant
