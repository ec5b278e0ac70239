"""Schedules: each tick is taken once, and not before its time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.checker.history import NEVER, Operation
from tests.checker.rules.rule import Broken, Case, rule


@rule("Each tick of a schedule is taken once: of all who say so, one is told that it has made the job.")
def each_tick_once(case: Case) -> Iterator[Broken]:
    taken: dict[tuple[str, int], list[Operation]] = defaultdict(list)
    for operation in case.history.of("schedule"):
        if operation.ok and operation.asked.term is not None:
            for schedule, tick in _ticks(operation):
                taken[schedule, tick].append(operation)
    for (schedule, tick), operations in taken.items():
        if len(operations) > 1:
            events = [event for operation in operations for event in operation.events]
            at = sorted(operation.ended for operation in operations)[1]
            yield Broken(f"schedule {schedule} fired {len(operations)} times for {tick}", events, at=at)


def _ticks(operation: Operation) -> Iterator[tuple[str, int]]:
    for change in operation.asked.changes:
        for job in change.jobs if change.schedule in operation.told.stored else ():
            yield change.schedule, job.at


@rule("A tick makes no job before its time, by the clock of the store.")
def no_tick_early(case: Case) -> Iterator[Broken]:
    if case.bounds.clocks_jump:
        return
    for job in case.truth.jobs:
        if job.schedule is not None and job.early_us > 0:
            message = f"schedule {job.schedule} made job {job.id} {job.early_us} µs before it was due"
            yield Broken(message, jobs=(job.id,), at=NEVER)
