"""How long the snapshot curve churns: by points, or by the clock at a steady pace."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.growth_curves import measures
from benchmarks.growth_curves.ground import Ground
from benchmarks.growth_curves.measures import FREE_GIB_MIN, PACE_PER_S, Plan
from benchmarks.growth_curves.sizes import SIZES

SIZE = SIZES["small"]
PLACE = Ground(Path(), Path(), None)


class Clock:
    """Stands still but for sleeps and for what a round takes."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(measures, "time", clock)
    return clock


def free_disk(monkeypatch: pytest.MonkeyPatch, *gib: float) -> None:
    """So much is free at the first look, at the second, …, and from the last on."""
    left = list(gib)
    monkeypatch.setattr(Ground, "free_gib", property(lambda self: left.pop(0) if len(left) > 1 else left[0]))


def test_without_minutes_there_are_as_many_turns_as_points() -> None:
    assert list(measures._turns(Plan(SIZE, 3), PLACE)) == list(range(21))


def test_a_churn_by_the_clock_keeps_its_pace_and_ends_in_time(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    free_disk(monkeypatch, 100.0)
    begun = []
    for _ in measures._turns(Plan(SIZE, 3, minutes=1), PLACE):
        begun.append(clock.now)
        clock.now += 0.5
    every = SIZE.churn_jobs / PACE_PER_S
    assert begun == pytest.approx([100.0 + number * every for number in range(round(60 / every))])


def test_a_machine_that_is_too_slow_for_the_pace_goes_on_without_a_pause(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    free_disk(monkeypatch, 100.0)
    begun = []
    for _ in measures._turns(Plan(SIZE, 3, minutes=1), PLACE):
        begun.append(clock.now)
        clock.now += 20.0
    assert begun == [100.0, 120.0, 140.0]


@pytest.mark.usefixtures("clock")
def test_a_churn_by_the_clock_ends_before_the_disk_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    free_disk(monkeypatch, FREE_GIB_MIN, FREE_GIB_MIN - 0.1)
    turns = measures._turns(Plan(SIZE, 3, minutes=30), PLACE)
    assert next(turns) == 0
    with pytest.raises(SystemExit, match="GiB of disk are left: name a larger disk with DATA="):
        next(turns)
