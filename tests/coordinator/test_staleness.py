"""Who is lost, by what one observer sees: in virtual time, with a store whose clock is set while workers beat."""

from __future__ import annotations

import asyncio

import pytest

from penstock.coordinator.coordinator import Coordinator
from penstock.coordinator.duties.recovery import Recovery
from penstock.coordinator.leader import Leader
from penstock.coordinator.settings import CoordinatorSettings
from tests.coordinator.conftest import Scene
from tests.simulation.loop import VirtualLoop

BEAT_SECONDS = 10.0
STALE_SECONDS = 30.0
CHECK_SECONDS = 5.0
LEASE_SECONDS = 10.0
STEP_SECONDS = 0.4


class Cast:
    """A worker that leads and watches, and others that only beat, until they are killed."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.loops: dict[str, list[VirtualLoop]] = {}
        self.lost_at: dict[str, float] = {}
        self.recovery_interval = CHECK_SECONDS

    def worker(self, name: str, stale_after: float = STALE_SECONDS) -> int:
        session = self.scene.register(name, stale_after=stale_after)

        async def beat() -> None:
            while True:
                await asyncio.sleep(stale_after / 3)
                self.scene.beat(session)

        self.loops[name] = [self.scene.begin(name, beat)]
        return session

    def leader(self, name: str = "leader") -> int:
        session = self.worker(name)

        async def lead() -> None:
            settings = CoordinatorSettings(recovery_interval=self.recovery_interval)
            leader = Leader(self.scene.store, lambda: session, name, LEASE_SECONDS)
            recovery = Recovery(self.scene.store, settings)
            await Coordinator(leader, [recovery], lambda: True).run()

        self.loops[name].append(self.scene.begin(f"{name}'s duties", lead))
        return session

    def kill(self, name: str) -> None:
        for loop in self.loops.pop(name):
            loop.frozen = True

    def pass_time(self, seconds: float) -> None:
        """Notes when each worker is first seen to be lost."""
        end = self.scene.time.now + seconds
        while self.scene.time.now < end:
            self.scene.pass_time(min(STEP_SECONDS, end - self.scene.time.now))
            for worker in self.scene.sqlite.list_workers().wait():
                if worker.status == "lost":
                    self.lost_at.setdefault(worker.id, self.scene.time.now)

    def step_clock(self, seconds: float) -> None:
        """The store's clock is set."""
        true = self.scene.sqlite._clock.now_us
        self.scene.sqlite._clock.now_us = lambda: true() + int(seconds * 1e6)  # type: ignore[method-assign]


@pytest.fixture
def cast(scene: Scene) -> Cast:
    return Cast(scene)


@pytest.mark.parametrize("seconds", [3600.0, -3600.0, 45.0, -45.0, 20.0, -20.0])
@pytest.mark.parametrize("phase", [0.1, 4.0, 9.9])
def test_a_step_of_the_clock_makes_nobody_lost(cast: Cast, seconds: float, phase: float) -> None:
    cast.leader()
    cast.worker("other")
    cast.worker("patient", stale_after=90.0)
    cast.pass_time(60 + phase)
    cast.step_clock(seconds)
    cast.pass_time(120)
    assert cast.lost_at == {}


@pytest.mark.parametrize("seconds", [3600.0, 45.0])
def test_a_leader_that_begins_after_the_step_calls_nobody_lost(cast: Cast, seconds: float) -> None:
    cast.worker("other")
    cast.worker("patient", stale_after=90.0)
    cast.pass_time(60)
    cast.step_clock(seconds)
    cast.leader()
    cast.pass_time(120)
    assert cast.lost_at == {}


@pytest.mark.parametrize("seconds", [0.0, 3600.0, -3600.0, 20.0, -20.0])
@pytest.mark.parametrize("after", [0.5, 12.0])
def test_who_dies_is_lost_in_time_whatever_becomes_of_the_clock(cast: Cast, seconds: float, after: float) -> None:
    cast.leader()
    cast.pass_time(3)
    cast.worker("other")
    cast.pass_time(60.5)
    cast.kill("other")
    died = cast.scene.time.now
    cast.pass_time(after)
    cast.step_clock(seconds)
    cast.pass_time(60)
    assert set(cast.lost_at) == {"other"}
    assert STALE_SECONDS - BEAT_SECONDS <= cast.lost_at["other"] - died <= STALE_SECONDS + CHECK_SECONDS


def test_who_dies_is_lost_within_a_second_of_its_patience(cast: Cast) -> None:
    """Not a check interval later: the leader comes again when it may be so."""
    cast.recovery_interval = 8.0
    cast.leader()
    cast.pass_time(1.3)
    cast.worker("other")
    cast.pass_time(60)
    cast.kill("other")
    (other,) = [one for one in cast.scene.sqlite.list_workers().wait() if one.id == "other"]
    beat = cast.scene.time.now - other.silent
    cast.pass_time(60)
    assert STALE_SECONDS <= cast.lost_at["other"] - beat <= STALE_SECONDS + 1


def test_the_next_leader_takes_over_within_the_bound(cast: Cast) -> None:
    cast.leader("first")
    cast.pass_time(1)
    cast.leader("second")
    cast.worker("other")
    cast.pass_time(60)
    cast.kill("first")
    cast.kill("other")
    died = cast.scene.time.now
    cast.pass_time(60)
    assert set(cast.lost_at) == {"first", "other"}
    assert max(cast.lost_at.values()) - died <= STALE_SECONDS + CHECK_SECONDS + LEASE_SECONDS


def test_who_comes_after_everybody_died_takes_over_soon(cast: Cast) -> None:
    cast.worker("other")
    cast.pass_time(30)
    cast.kill("other")
    cast.pass_time(600)
    cast.leader()
    begun = cast.scene.time.now
    cast.pass_time(60)
    assert cast.lost_at["other"] - begun <= STALE_SECONDS
