"""Figures of what happened, and samples of what waits: kept so that they survive whoever has counted them.

Attempts are counted by their worker, page by page: each page goes with a heartbeat, and is stored once, however often
it is sent. What else happens to jobs is counted by the operation that does it. The leader folds pages into rows by
minute, ten minutes and hour, and samples what waits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, get_args

import msgspec

from penstock.domain.figures.series import Figures, Route, Tally, TenantFigures
from penstock.store.call import Call

Span = Literal[60, 600, 3600]
"""For how many seconds a row stands."""
SPANS: tuple[Span, ...] = get_args(Span)
KEPT_SECONDS: Mapping[Span, int] = {60: 48 * 3600, 600: 30 * 86400, 3600: 400 * 86400}
"""For how long rows are kept (O11)."""


class Page(msgspec.Struct, frozen=True):
    """What a worker has counted since the page before. The next is made when this one is stored."""

    book: str
    """Whose pages these are: another for every time that somebody begins to count."""
    number: int
    tally: Tally


class FoldFigures(msgspec.Struct, frozen=True):
    """Add up to `limit` pages to the rows, and remove rows that are too old."""

    term: int | None = None
    limit: int = 50


class ReadFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Rows from `since` on, before `until`; those of the span that begins before `since` and contains it are among
    them. None has no end. Nothing else given means all routes.
    """

    span: Span
    since: int
    until: int | None = None
    type: str | None = None
    queue: str | None = None
    capability: str | None = None


class Depth(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs of a route have not ended. `pending` wait and are due, also those before a limit (`blocked`) or
    paused; `ready` are those of them that a worker could take. `retrying` are those of the `scheduled` ones that were
    tried before; `running` have begun, `claimed` have not.
    """

    pending: int = 0
    ready: int = 0
    blocked: int = 0
    scheduled: int = 0
    retrying: int = 0
    claimed: int = 0
    running: int = 0

    @property
    def unended(self) -> int:
        return self.pending + self.scheduled + self.claimed + self.running


class FigureRow(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a route in a span that began `at`, and the depth that was kept last in it."""

    at: int
    route: Route
    figures: Figures
    depth: Depth | None = None


class TenantRow(msgspec.Struct, frozen=True, kw_only=True):
    at: int
    org: str
    figures: TenantFigures


class FigurePage(msgspec.Struct, frozen=True):
    """Rows by moment and route, and those of tenants; `now` is when they were read."""

    rows: Sequence[FigureRow]
    tenants: Sequence[TenantRow]
    now: int


class Gauge(msgspec.Struct, frozen=True, kw_only=True):
    """A route now: what waits and runs, since when the oldest was due, how many workers could take it, and with how
    many slots each; that is kept from the last time that there was one.
    """

    route: Route
    depth: Depth
    oldest_due_at: int | None = None
    workers: int = 0
    slots: float | None = None


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How many ended jobs are stored, by state; of dead letters those that were not retried."""

    completed: int = 0
    cancelled: int = 0
    dead: int = 0
    expired: int = 0


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """What was counted at a moment of the store's clock, and how many seconds that took. None is not known yet."""

    at: int
    seconds: float
    gauges: Sequence[Gauge]
    ended: Ended | None


class CountedGauges(msgspec.Struct, frozen=True):
    """What was counted now, before anybody has looked at the workers."""

    at: int
    gauges: Sequence[Gauge]


class StoreSample(msgspec.Struct, frozen=True):
    """Keep this as the newest; `history`: also as the depth in the rows of now. Without `ended` that stays as it was
    counted last.
    """

    at: int
    seconds: float
    gauges: Sequence[Gauge]
    ended: Ended | None = None
    term: int | None = None
    history: bool = False


class CapacityRow(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the view `capacity` (O4). None is not known; workers are rounded up."""

    type: str
    queue: str
    capability: str
    pending: int
    ready: int
    claimed: int
    running: int
    completed_last_hour: int
    failed_last_hour: int
    active_workers: int
    avg_duration_seconds: float | None
    jobs_per_worker_hour: float | None
    hours_to_drain: float | None
    workers_for_1_hour: int | None
    workers_for_4_hours: int | None
    workers_for_8_hours: int | None
    sampled_at: int


class FiguresStore(Protocol):
    """Keeping figures, and reading them."""

    def fold_figures(self, params: FoldFigures) -> Call[int]:
        """Add pages to the rows of their spans, by the store's clock when each was stored. Answers how many; as many as
        the limit means that there may be more. Each page is added once, whoever folds and whatever is sent again.
        """
        ...

    def read_figures(self, params: ReadFigures) -> Call[FigurePage]:
        """The rows of a time, with the pages that are not folded yet."""
        ...

    def count_gauges(self) -> Call[CountedGauges]:
        """Count all that waits and runs. Looks at every job that has not ended: for the leader, which sees to it that
        this is not done often.
        """
        ...

    def count_ended(self) -> Call[Ended]:
        """Count what has ended and is stored, which may be very much: for the leader too."""
        ...

    def store_sample(self, params: StoreSample) -> Call[None]:
        """Keep a sample, in place of the one before."""
        ...

    def read_sample(self) -> Call[Sample | None]:
        """The newest sample, or None if there never was one."""
        ...

    def read_capacity(self) -> Call[list[CapacityRow]]:
        """The view `capacity`, as of the newest sample."""
        ...
