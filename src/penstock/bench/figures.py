"""The figures of a benchmark: their names, and how what the rounds measured becomes one figure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

Figures = dict[str, float]
Noted = dict[str, list[float]]
"""All that one round measured: of a rate one value, of pickups as many as there were probes."""

PICKUPS = "pickup_ms"


class Row(NamedTuple):
    """A figure as people read it."""

    name: str
    title: str
    unit: str

    @property
    def more_is_better(self) -> bool:
        return self.unit == "jobs/s"

    def short(self, value: float) -> str:
        return f"{value:,.0f}" if self.more_is_better else self.shown(value)

    def shown(self, value: float) -> str:
        return f"{value:,.0f} {self.unit}" if self.more_is_better else f"{value:,.2f} {self.unit}"


ROWS = (
    Row("enqueue_single_per_s", "enqueue one by one, plain code", "jobs/s"),
    Row("enqueue_single_async_per_s", "enqueue one by one, async code", "jobs/s"),
    Row("enqueue_concurrent_per_s", "enqueue, 20 concurrent callers", "jobs/s"),
    Row("enqueue_bulk_per_s", "enqueue 10,000 in bulk", "jobs/s"),
    Row("drain_per_s", "drain, async handlers", "jobs/s"),
    Row("drain_batch_500_per_s", "claim and complete, batches of 500", "jobs/s"),
    Row("drain_threads_per_s", "drain, plain handlers (threads)", "jobs/s"),
    Row("drain_processes_per_s", "drain, process handlers", "jobs/s"),
    Row("pickup_ms_p50", "pickup by an idle process, p50", "ms"),
    Row("pickup_ms_p99", "pickup by an idle process, p99", "ms"),
)


class Record:
    """What was measured, round by round."""

    def __init__(self) -> None:
        self.rounds: list[Noted] = []

    def begin_round(self) -> None:
        self.rounds.append({})

    def note(self, name: str, *values: float) -> None:
        self.rounds[-1].setdefault(name, []).extend(values)


def summary(rounds: Sequence[Noted]) -> Figures:
    """One figure of each name: the median of the rates, and percentiles of all pickups."""
    together: Noted = {}
    for noted in rounds:
        for name, values in noted.items():
            together.setdefault(name, []).extend(values)
    times = sorted(together.pop(PICKUPS, []))
    figures: Figures = {name: round(statistics.median(values)) for name, values in together.items()}
    if times:
        figures["pickup_ms_p50"] = round(statistics.median(times), 2)
        figures["pickup_ms_p99"] = round(times[min(len(times) - 1, int(len(times) * 0.99))], 2)
    return figures
