"""How the points of each curve are measured."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass

from benchmarks.growth_curves import jobs
from benchmarks.growth_curves.beds import StoreBed, enqueue
from benchmarks.growth_curves.catalogue import Engine
from benchmarks.growth_curves.ground import Ground
from benchmarks.growth_curves.hands import claim_figures
from benchmarks.growth_curves.processes import CHILD, drained_per_s, heard, started, told
from benchmarks.growth_curves.sizes import Size
from penstock.bench.workers import begin

Figures = Mapping[str, float]
Note = Callable[[int, int, Figures], None]
"""The round, x, and what was measured."""
OLD_DAYS = 3
"""Too young for the worker's own pruning, which keeps a week."""
WARM_SHARE = 10
WARM_ROUNDS = 2
PACE_PER_S = 5000
"""Of a churn by the clock: jobs come and go at this pace on average, each round as fast as it can."""
FREE_GIB_MIN = 3.0


@dataclass(frozen=True)
class Plan:
    """What a run was asked for. `minutes` is for the snapshot curve: by the clock instead of by jobs."""

    size: Size
    rounds: int
    minutes: float | None = None


@dataclass(frozen=True)
class Levels:
    """A curve whose points have a store each: made ready once, then measured in turn, round by round."""

    xs: Callable[[Size], tuple[int, ...]]
    prepare: Callable[[StoreBed, int, Size], None]
    measure: Callable[[StoreBed, int, Size], Figures]

    def run(self, ground: Ground, engine: Engine, plan: Plan, note: Note) -> None:
        with contextlib.ExitStack() as stack:
            beds = {x: stack.enter_context(ground.bed(engine)) for x in self.xs(plan.size)}
            for x, bed in beds.items():
                self.prepare(bed, x, plan.size)
            for number in range(1, plan.rounds + 1):
                for x, bed in beds.items():
                    note(number, x, self.measure(bed, x, plan.size))


# waiting


def fill_waiting(bed: StoreBed, x: int, size: Size) -> None:
    enqueue(bed, jobs.plain(bed.bench, 1))  # So that the type is known to the store.
    bed.fill_waiting(x - 1)


def claims_and_drain(bed: StoreBed, x: int, size: Size) -> Figures:
    """Afterwards as many jobs wait as before."""
    bed.settle()
    claims = claim_figures(bed.bench, size.claims)
    enqueue(bed, jobs.plain(bed.bench, size.jobs))
    bed.settle()
    return {**claims, "drain_per_s": drained_per_s(bed.address, size.jobs, leave_rest=True)}


# history, tenants, types, processes


def fill_finished(bed: StoreBed, x: int, size: Size) -> None:
    enqueue(bed, jobs.plain(bed.bench, max(1, size.jobs // WARM_SHARE)))
    if x:
        bed.fill_finished(x, OLD_DAYS)
    _drained(bed, bed.left())


def warm(bed: StoreBed, x: int, size: Size) -> None:
    """The first jobs of a store make its file grow and its tables known."""
    fill_finished(bed, 0, size)


def plain_drain(bed: StoreBed, x: int, size: Size) -> Figures:
    enqueue(bed, jobs.plain(bed.bench, size.jobs))
    return _drained(bed, size.jobs)


def drain_of_tenants(bed: StoreBed, x: int, size: Size) -> Figures:
    enqueue(bed, jobs.of_tenants(bed.bench, x, size.jobs))
    return _drained(bed, size.jobs)


def drain_of_types(bed: StoreBed, x: int, size: Size) -> Figures:
    enqueue(bed, jobs.of_types(bed.bench, x, size.jobs))
    return _drained(bed, size.jobs, types=x)


def drain_by_processes(bed: StoreBed, x: int, size: Size) -> Figures:
    enqueue(bed, jobs.plain(bed.bench, x * size.jobs))
    return _drained(bed, x * size.jobs, processes=x)


def _drained(bed: StoreBed, count: int, processes: int = 1, types: int = 0) -> Figures:
    bed.settle()
    return {"drain_per_s": drained_per_s(bed.address, count, processes, types)}


# snapshot


class Snapshot:
    """A curve whose points follow each other in one store: it is churned anew in every round."""

    def run(self, ground: Ground, engine: Engine, plan: Plan, note: Note) -> None:
        for number in range(1, 2 if plan.minutes else plan.rounds + 1):
            with ground.bed(engine) as bed, contextlib.closing(_churned(bed, ground, plan)) as points:
                for point, figures in enumerate(points):
                    note(number, point * plan.size.churn_jobs, figures)


def _churned(bed: StoreBed, ground: Ground, plan: Plan) -> Generator[Figures, None, None]:
    """By one worker process that stays. A first few rounds are not counted, and not yet under the snapshot."""
    count = plan.size.churn_jobs
    bed.settle()
    with started(CHILD, bed.address, ("churn", count)) as [child]:

        def round_() -> float:
            begin([child])
            seconds: float = told(child)
            heard(child)
            return seconds

        for _ in range(WARM_ROUNDS):
            round_()
        with bed.held():
            for _ in _turns(plan, ground):
                yield {"drain_per_s": count / round_(), "disk_mib": bed.disk_mib()}


def _turns(plan: Plan, ground: Ground) -> Iterator[int]:
    if not plan.minutes:
        yield from range(plan.size.churn_points)
        return
    begun, number = time.monotonic(), 0
    while time.monotonic() - begun < plan.minutes * 60:
        if ground.free_gib < FREE_GIB_MIN:
            raise SystemExit(f"less than {FREE_GIB_MIN:g} GiB of disk are left: name a larger disk with DATA=")
        yield number
        number += 1
        time.sleep(max(0.0, begun + number * plan.size.churn_jobs / PACE_PER_S - time.monotonic()))


MEASURES: dict[str, Levels | Snapshot] = {
    "waiting": Levels(lambda size: size.waiting, fill_waiting, claims_and_drain),
    "history": Levels(lambda size: size.history, fill_finished, plain_drain),
    "snapshot": Snapshot(),
    "tenants": Levels(lambda size: size.tenants, warm, drain_of_tenants),
    "types": Levels(lambda size: size.types, warm, drain_of_types),
    "processes": Levels(lambda size: size.processes, warm, drain_by_processes),
}
