"""Outcomes that the store will never take, however often they are tried: how to tell, and what is left of them.

See docs/decisions/0020-refused-outcomes.md.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import msgspec

from penstock.domain.errors import StoreError, StoreRefused
from penstock.store.contract import FinishJobs, Unfinished

BARE_REASON = "the store did not take what was said of its end; see the log of its worker"


def is_refusal(error: Exception) -> bool:
    """Whether the store will never take this, however often it is tried: it is not the store that is in trouble."""
    return isinstance(error, StoreRefused) or not isinstance(error, StoreError)


def plainer(end: Unfinished) -> Unfinished | None:
    """The same end with less of what a store may refuse: without its workflow, then without its texts; None if there is
    nothing left to leave out.
    """
    if end.member is not None:
        return msgspec.structs.replace(end, member=None)
    bare = msgspec.structs.replace(end, error=None, reason=BARE_REASON, progress=None)
    return None if end == bare else bare


def parts_of(batch: FinishJobs, suspects: Container[int]) -> Iterator[FinishJobs]:
    """Each outcome that could be why the store does not take the batch by itself, after all the others."""
    plain = [done for done in batch.completed if done.token not in suspects]
    if plain:
        yield FinishJobs(plain, history=batch.history)
    for done in batch.completed:
        if done.token in suspects:
            follow_ups = [one for one in batch.follow_ups if one[0] == done.token]
            workflows = [one for one in batch.workflows if one[0] == done.token]
            yield FinishJobs([done], (), follow_ups, batch.history, workflows=workflows)
    for end in batch.unfinished:
        yield FinishJobs((), [end], history=batch.history)
