"""Ordered keys: jobs of one key are taken up one after the other, in the order in which they were enqueued."""

from __future__ import annotations

from collections.abc import Iterator

from tests.checker.evidence import Life, by_key
from tests.checker.rules.rule import Broken, Case, rule


@rule("A job of an ordered key is not claimed before all that were enqueued before it under this key have ended.")
def ordered_keys(case: Case) -> Iterator[Broken]:
    for key, lives in by_key(case.evidence.lives, "key").items():
        if key not in case.bounds.ordered_keys:
            continue
        stored = [life for life in lives if life.stored_by is not None]
        for life in stored:
            for other in stored:
                if life.leases and _came_before(other, life):
                    claim = life.leases[0].claim
                    if case.evidence.alive_until(other) > claim.ended:
                        message = f"job {life.id} was claimed before job {other.id} of the same key {key!r} had ended"
                        yield Broken(message, jobs=(other.id, life.id), at=claim.ended)


def _came_before(one: Life, other: Life) -> bool:
    """Whether it was surely enqueued first: by an earlier call, or earlier in the same call."""
    first, second = one.stored_by, other.stored_by
    assert first is not None
    assert second is not None
    if first is not second:
        return first.ended < min(origin.operation.begun for origin in other.origins)
    ids = [job.id for job in getattr(first.asked, "jobs", ())]
    return one.id in ids and other.id in ids and ids.index(one.id) < ids.index(other.id)
