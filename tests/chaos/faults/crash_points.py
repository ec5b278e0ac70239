"""Processes that end themselves at an exact point: before or after a claim, an effect, a commit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from tests.chaos.actors import PATIENCE_SECONDS, Actor, Broken, until
from tests.chaos.catalogue import fault
from tests.chaos.load import Plan, new_id, standard_load
from tests.chaos.program.crashes import LEADER_POINTS, WORKER_POINTS
from tests.chaos.program.role import Crash
from tests.chaos.settle import settle
from tests.chaos.stage import Stage

LONG_MS = 300
"""Long enough that the worker tells the store of the start."""


class Itinerary:
    """The points at which each worker is to die, one after the other."""

    def __init__(self, stage: Stage, points: dict[int, list[str]]) -> None:
        self._stage = stage
        self._points = points
        stage.on_crash = self._crashed

    def next_crash(self, number: int) -> Crash | None:
        points = self._points[number]
        return Crash(points[0], self._stage.dice.randint(1, 3)) if points else None

    def _crashed(self, actor: Actor) -> None:
        if actor.kind == "worker":
            self._points[actor.number].pop(0)
            self._stage.again(actor, crash=self.next_crash(actor.number))

    def travelled(self) -> bool:
        """Whether all have died everywhere; while not, there must be work to die of."""
        left = any(self._points.values())
        if not self._stage.loading() and left:
            self._stage.enqueue(load(self._stage))
        return not left


def load(stage: Stage) -> list[Plan]:
    long = [
        Plan(id=new_id(stage.dice), type="plain", payload={"ms": LONG_MS}, parcel=number)
        for number in range(stage.size.jobs // 10)
    ]
    return [*standard_load(stage.dice, stage.size.jobs // 2), *long]


def die_at(stage: Stage, points: dict[int, list[str]]) -> None:
    stage.bounds = replace(stage.bounds, pickup_us=None)  # At times nobody is left to pick them up.
    itinerary = Itinerary(stage, points)
    for number in points:
        stage.start_worker(number, wait=False, crash=itinerary.next_crash(number))
    for worker in stage.workers.values():
        worker.wait_started()
    stage.enqueue(load(stage))
    until(itinerary.travelled, "every worker has died at each of its points")
    settle(stage)


def die_in_recovery(stage: Stage, point: str) -> None:
    """Others are killed until the leader has died while it took back their jobs."""
    stage.bounds = replace(stage.bounds, pickup_us=None)
    crash = Crash(point)
    stage.begin(load(stage), crash=crash)
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not any(actor.crashed for actor in stage.actors):
        if time.monotonic() > give_up:
            raise Broken(f"no leader has died {point}")
        if not stage.loading():
            stage.enqueue(load(stage))
        victim = stage.victim()
        if victim is not None:
            stage.kill(victim)
            stage.again(victim, crash=crash)
        stage.wait(stage.size.lease)
    settle(stage)


@fault(row=2, full=())
def crash_points(stage: Stage) -> None:
    """Each worker dies at one exact point after the other; together they die at all of them."""
    stage.size = replace(stage.size, seconds=stage.size.seconds / 2)
    die_at(stage, {number: list(WORKER_POINTS[number - 1 :: 3]) for number in (1, 2, 3)})


@fault(row=2, short=("postgresql",), full=())
def crash_in_recovery(stage: Stage) -> None:
    """The leader dies while it takes back the jobs of another."""
    die_in_recovery(stage, stage.dice.choice(LEADER_POINTS))


def _one_point(point: str) -> Callable[[Stage], None]:
    def run(stage: Stage) -> None:
        if point in LEADER_POINTS:
            die_in_recovery(stage, point)
        else:
            die_at(stage, {number: [point] for number in (1, 2, 3)})

    run.__doc__ = f"Workers die: {point}."
    return run


for _point in (*WORKER_POINTS, *LEADER_POINTS):
    fault(row=2, name=f"crash-{_point.replace(' ', '-')}", short=())(_one_point(_point))
