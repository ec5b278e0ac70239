"""The schedules of a seed: a few, each with another policy for what was missed, which all come to an end."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from penstock import JobCall
from penstock.client.schedules.edits import new_row
from penstock.client.schedules.plan import make_plan
from penstock.domain.clock import MICROSECONDS, from_us
from penstock.domain.ids import id_from
from penstock.store.contract import ChangeSchedules, ReadSchedules, ScheduleChange, ScheduleRow, SqlStore, decode_plan
from tests.simulation.features import Theme, draw_features, make_item
from tests.simulation.jobs import bind, work

EACH = "each"
"""The one that makes up for all that was missed: nothing of it is left out."""
NAMES = (EACH, "once", "skip")
TICKS_MIN, TICKS_MAX = 4, 8


def add_schedules(store: SqlStore, random: Random, theme: Theme, seconds: float) -> None:
    now = store.read_clock().wait()
    limit = random.randint(TICKS_MIN, TICKS_MAX)
    plans: dict[str, dict[str, Any]] = {
        EACH: {"every": "1s", "misfire": "all", "limit": limit},
        "once": {"cron": "* * * * * *", "misfire": "once", "limit": limit},
        "skip": {"every": "1500ms", "misfire": "skip", "grace": 0.5, "end": from_us(now + int(seconds * MICROSECONDS))},
    }
    rows = [new_row(name, make_plan(_job(name, random, theme), when), now, "world") for name, when in plans.items()]
    store.change_schedules(ChangeSchedules([ScheduleChange(row.name, row, None) for row in rows])).wait()


def _job(name: str, random: Random, theme: Theme) -> JobCall[Any]:
    """Of one no job may be left out, as by a unique key, or be removed."""
    if name == EACH or "schedule" not in theme:
        return work.bind(seconds=0.01)
    item = make_item(random, draw_features(random, theme - {"bulk", "workflow", "follow-up", "delay"}))
    return bind(item.kind, item.args, item.options)


def read_rows(store: SqlStore) -> list[ScheduleRow]:
    return store.read_schedules(ReadSchedules()).wait().schedules


def left_out(store: SqlStore) -> Iterator[str]:
    """Ticks of which there is no job, though each was to make one."""
    for row in read_rows(store):
        plan = decode_plan(row)
        if plan.misfire != "all" or plan.limit is None:
            continue
        if row.fires != plan.limit:
            yield f"schedule {row.name} says that it has fired {row.fires} times, and its limit is {plan.limit}"
        tick: int | None = row.anchor
        for number in range(plan.limit):
            assert tick is not None
            tick = plan.timing.after(tick, row.anchor)
            if tick is None or store.read_job(id_from(tick, row.name, row.created_at)).wait() is None:
                yield f"schedule {row.name} has no job for its tick {number + 1} of {plan.limit}"
