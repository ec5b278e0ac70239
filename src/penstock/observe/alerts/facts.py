"""What the rules look at: read in a few small looks, none of which counts all jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from penstock.domain.clock import MICROSECONDS
from penstock.domain.flow.pauses import Pauses
from penstock.observe.alerts.settings import AlertSettings
from penstock.observe.stuck import unpaused_lanes
from penstock.store.contract import (
    AlertPage,
    AlertRow,
    CountWaiting,
    DueSchedules,
    FigureRow,
    ReadFigures,
    ReadSigns,
    Room,
    Sample,
    ScheduleRow,
    Signs,
    Store,
    Waiting,
    WorkerInfo,
)

RECENT_SECONDS = 300.0
"""What happened counts for so long as what is wrong now."""
AHEAD_US = 60 * MICROSECONDS
"""What lies further ahead is of a clock that was set back since: it was told when it happened."""
COUNTED_MAX = 1_000
SCHEDULES_MAX = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """That a rule is broken, and by what."""

    scope: str
    title: str
    message: str
    value: float | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertFacts:
    """`rows` are the figures of the last minutes, `late` the schedules that are due, `missed` those that were missed in
    these minutes, with how often. `waiting` are lanes that are not paused. `alerts` are those of before.
    """

    now: int
    workers: Sequence[WorkerInfo] = ()
    waiting: Sequence[Waiting] = ()
    types: Sequence[str] = ()
    sample: Sample | None = None
    rows: Sequence[FigureRow] = ()
    signs: Signs = Signs()
    late: Sequence[ScheduleRow] = ()
    missed: Mapping[str, int] = field(default_factory=dict)
    room: Room | None = None
    alerts: Sequence[AlertRow] = ()

    def seconds_since(self, moment: int) -> float:
        """None in the future: the clock was set back."""
        return max(0, self.now - moment) / MICROSECONDS


async def read_facts(store: Store, settings: AlertSettings, page: AlertPage, missed: Mapping[str, int]) -> AlertFacts:
    since = page.now - round(RECENT_SECONDS * MICROSECONDS)
    pauses = Pauses(await store.list_pauses())
    unstarted = settings.rule("stale_jobs").threshold
    return AlertFacts(
        now=page.now,
        workers=await store.list_workers(),
        waiting=unpaused_lanes(await store.count_waiting(CountWaiting(COUNTED_MAX)), pauses),
        types=sorted(await store.read_types()),
        sample=await store.read_sample(),
        rows=(await store.read_figures(ReadFigures(span=60, since=since, until=page.now + AHEAD_US))).rows,
        signs=await store.read_signs(ReadSigns(dead_since=since, unstarted_seconds=unstarted)),
        late=(await store.due_schedules(DueSchedules(SCHEDULES_MAX, ()))).schedules,
        missed=missed,
        room=await store.read_room(),
        alerts=page.alerts,
    )
