"""Ordered keys: jobs of one key are taken up one after the other, by their due times, then as they were enqueued."""

from __future__ import annotations

from collections.abc import Iterator

from tests.checker.evidence import Life, by_key
from tests.checker.rules.rule import Broken, Case, rule


@rule("A job of an ordered key is not claimed before all of this key that are due before it have ended for good.")
def ordered_keys(case: Case) -> Iterator[Broken]:
    if case.bounds.clocks_jump:
        return
    for key, lives in by_key(case.evidence.lives, "key").items():
        if key in case.bounds.ordered_keys:
            yield from _broken(case, key, [life for life in lives if life.stored_by is not None])


def _broken(case: Case, key: str, lives: list[Life]) -> Iterator[Broken]:
    alive_until = {life.id: case.evidence.alive_until(life) for life in lives}
    for life in lives:
        for other in lives if life.leases else ():
            claim = life.leases[0].claim
            if alive_until[other.id] > claim.ended and _is_due_before(other, life):
                message = f"job {life.id} was claimed before job {other.id} of the same key {key!r} had ended"
                yield Broken(message, jobs=(other.id, life.id), at=claim.ended)


def _is_due_before(one: Life, other: Life) -> bool:
    """Whether its due time, as it was enqueued, is surely the first, or the same and it was enqueued first."""
    first, second = one.job, other.job
    assert first is not None
    assert second is not None
    if (first.at is None) != (second.at is None):
        return False
    in_order = first.delay <= second.delay if first.at is None or second.at is None else first.at <= second.at
    return in_order and _came_before(one, other)


def _came_before(one: Life, other: Life) -> bool:
    """Whether it was surely enqueued first: by an earlier call, or earlier in the same call."""
    first, second = one.stored_by, other.stored_by
    assert first is not None
    assert second is not None
    if first is not second:
        return first.ended < min(origin.operation.begun for origin in other.origins)
    ids = [job.id for job in getattr(first.asked, "jobs", ())]
    return one.id in ids and other.id in ids and ids.index(one.id) < ids.index(other.id)
