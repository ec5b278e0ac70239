"""Whether the figures say what has become of the jobs: never more than is so, and all of it where nobody was killed.

A worker that is killed takes along what it has counted since its last heartbeat; so may one whose server is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from penstock.domain.job import FINAL, Job
from penstock.store.contract import FoldFigures, ReadFigures, Store
from tests.chaos.actors import Broken

ENDED = frozenset(state.value for state in FINAL)


def check_counted(store: Store, jobs: Iterable[Job], *, exact: bool) -> None:
    """Before and after all pages were folded."""
    ended = Counter(job.state.value for job in jobs if job.state in FINAL)
    before = counted(store)
    while store.fold_figures(FoldFigures()).wait():
        pass
    after = counted(store)
    if before != after:
        raise Broken(f"folding has changed the figures from {dict(before)} to {dict(after)}")
    for state in sorted(ENDED):
        if after[state] > ended[state] or (exact and after[state] != ended[state]):
            raise Broken(f"{ended[state]} jobs have ended {state}, and {after[state]} were counted")


def counted(store: Store) -> Counter[str]:
    """All that was counted of jobs that ended, by state."""
    found: Counter[str] = Counter()
    for row in store.read_figures(ReadFigures(span=3600, since=0)).wait().rows:
        for count, number in row.figures.counts.items():
            if count.value in ENDED:
                found[count.value] += number
    return found
