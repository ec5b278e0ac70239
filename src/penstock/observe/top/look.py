"""One look at a store: a few reads, each of a bounded number of rows. Jobs are not counted: whoever leads does that."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.store.contract import FigurePage, ReadFigures, Sample, Span, Store, WorkerInfo

SPAN: Span = 60
"""Rates are those of the last whole minute and of the one that has begun."""
REST_FACTOR = 50
LATE_SECONDS = 60.0
"""Whoever leads counts every few seconds, or rests for fifty times as long as it took."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What was there `now`, with the figures of all that happened from `since` on. `before` is an older sample, which
    shows how fast jobs come.
    """

    now: int
    since: int
    page: FigurePage
    sample: Sample | None
    workers: Sequence[WorkerInfo]
    before: Sample | None = None

    @property
    def seconds(self) -> float:
        return (self.now - self.since) / MICROSECONDS

    @property
    def sample_age(self) -> float | None:
        """How many seconds ago what waits was counted; None if it never was."""
        return None if self.sample is None else max(0.0, (self.now - self.sample.at) / MICROSECONDS)

    @property
    def uncounted(self) -> bool:
        """Whether nobody counts what waits, or not any more."""
        age = self.sample_age
        return self.sample is None or age is None or age > LATE_SECONDS + 2 * REST_FACTOR * self.sample.seconds


def look(store: Store) -> Look:
    moment = store.read_clock().wait() - SPAN * MICROSECONDS
    since = moment - moment % (SPAN * MICROSECONDS)
    page = store.read_figures(ReadFigures(span=SPAN, since=since)).wait()
    sample, workers = store.read_sample().wait(), store.list_workers().wait()
    return Look(now=page.now, since=since, page=page, sample=sample, workers=workers)
