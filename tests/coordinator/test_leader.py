"""Leading: taken, kept, lost to another, given up; and never by two at once."""

from __future__ import annotations

import asyncio
import functools
import logging
import operator

import pytest

from penstock.coordinator.coordinator import Coordinator
from penstock.coordinator.leader import Leader
from penstock.domain.errors import NotLeader, StoreUnavailable
from tests.coordinator.conftest import Scene

LEASE = 10.0


class Counted:
    """A duty that notes when it was done and by which term."""

    name = "count"
    judges = True
    makes_work = True

    def __init__(self, interval: float, error: Exception | None = None, again: float | None = None) -> None:
        self.interval = interval
        self.again = again
        self.done: list[int] = []
        self.error = error

    async def do(self, term: int) -> float | None:
        self.done.append(term)
        if self.error is not None:
            raise self.error
        return self.again


class Process:
    """A coordinator in a process of its own."""

    def __init__(self, scene: Scene, name: str, duty: Counted | None = None) -> None:
        self.session = scene.register(name)
        self.duty = duty or Counted(1.0)
        self.trusted = True
        self._scene = scene
        self._name = name
        self.loop = scene.begin(name, self._run)
        self.coordinator: Coordinator | None = None

    async def _run(self) -> None:
        self.leader = Leader(self._scene.store, lambda: self.session, self._name, LEASE)
        self.coordinator = Coordinator(self.leader, [self.duty], lambda: self.trusted)
        await self.coordinator.run()

    def die(self) -> None:
        self.loop.frozen = True


def test_one_leads_and_the_duties_are_done_by_it_alone(scene: Scene) -> None:
    first, second = Process(scene, "first"), Process(scene, "second")
    scene.pass_time(60)
    done = [one.duty.done for one in (first, second)]
    assert min(map(len, done)) == 0
    assert 50 <= max(map(len, done)) <= 70
    assert set(functools.reduce(operator.iadd, done, [])) == {1}


def test_duties_that_fail_are_told_once_and_when_it_is_over(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    process = Process(scene, "first", Counted(1.0, StoreUnavailable("the server does not answer")))
    with caplog.at_level(logging.WARNING, "penstock.coordinator"):
        scene.pass_time(60)
        assert len(process.duty.done) >= 50
        assert caplog.messages == ["could not count: the server does not answer; trying again"]
        process.duty.error = None
        scene.pass_time(2)
    assert [line.split(",")[0] for line in caplog.messages[1:]] == ["the store is well again"]


def test_a_trouble_with_the_duties_is_over_for_one_that_leads_no_more(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    process = Process(scene, "first", Counted(1.0, StoreUnavailable("the server does not answer")))
    with caplog.at_level(logging.ERROR, "penstock.coordinator"):
        scene.pass_time(5)
    process.leader.step_down()
    with caplog.at_level(logging.WARNING, "penstock.coordinator"):
        process.duty.error = NotLeader("another leads")
        scene.pass_time(60)
    assert sum("well again" in line for line in caplog.messages) == 1


def test_a_duty_that_failed_does_not_wait_for_its_next_turn(scene: Scene) -> None:
    process = Process(scene, "first", Counted(20.0, StoreUnavailable("the server does not answer")))
    scene.pass_time(23)
    process.duty.interval, failed = 3600.0, len(process.duty.done)
    scene.pass_time(100)
    assert len(process.duty.done) - failed >= 3


def test_a_duty_that_says_when_it_is_done_next_is_done_then(scene: Scene) -> None:
    """To the moment: intervals have jitter, so that not all workers come at once; this is one worker."""
    process = Process(scene, "first", Counted(1.0, again=0.25))
    scene.pass_time(2)
    begun = len(process.duty.done)
    scene.pass_time(100)
    assert len(process.duty.done) - begun == 400


def test_when_the_leader_dies_another_takes_over_within_the_lease(scene: Scene) -> None:
    first = Process(scene, "first")
    scene.pass_time(5)
    second = Process(scene, "second")
    scene.pass_time(20)
    assert scene.leader().worker_id == "first"
    first.die()
    scene.pass_time(LEASE * 1.1)
    found = scene.leader()
    assert (found.worker_id, found.term) == ("second", 2)
    scene.pass_time(2)
    assert set(second.duty.done) == {2}


def test_a_leader_that_was_stopped_for_a_while_does_nothing_when_it_goes_on(scene: Scene) -> None:
    first, second = Process(scene, "first"), Process(scene, "second")
    scene.pass_time(5)
    leader, other = (first, second) if scene.leader().worker_id == "first" else (second, first)
    leader.die()
    before = list(leader.duty.done)
    scene.pass_time(LEASE * 2)
    leader.loop.frozen = False
    scene.pass_time(5)
    assert leader.duty.done == before
    assert set(other.duty.done) == {2}


def test_a_leader_that_is_refused_steps_down(scene: Scene) -> None:
    refused = Process(scene, "refused", Counted(1.0, NotLeader("term 1 is over")))
    scene.pass_time(2)
    assert refused.duty.done == [1]
    assert refused.leader.term is None
    scene.pass_time(LEASE)
    assert len(refused.duty.done) > 1


def test_an_error_of_a_duty_does_not_end_it(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    process = Process(scene, "one", Counted(1.0, StoreUnavailable("away")))
    scene.pass_time(5)
    assert len(process.duty.done) >= 4
    assert "could not count: away" in caplog.text


@pytest.mark.parametrize("judges", [True, False])
def test_one_that_was_cut_off_of_late_judges_nobody(scene: Scene, judges: bool) -> None:
    process = Process(scene, "one")
    process.duty.judges = judges
    process.trusted = False
    scene.pass_time(30)
    assert (process.duty.done == []) is judges


def test_while_the_store_is_away_nobody_leads_for_longer_than_the_lease(scene: Scene) -> None:
    process = Process(scene, "one")
    scene.pass_time(5)
    scene.store.broken = StoreUnavailable("away")
    scene.pass_time(LEASE)
    count = len(process.duty.done)
    scene.pass_time(LEASE)
    assert len(process.duty.done) == count
    scene.store.broken = None
    scene.pass_time(LEASE)
    assert len(process.duty.done) > count


def test_a_leader_that_resigns_leaves_the_lead_free_at_once(scene: Scene) -> None:
    first = Process(scene, "first")
    scene.pass_time(5)
    assert first.coordinator is not None
    asyncio.run_coroutine_threadsafe(first.coordinator.resign(), first.loop)
    first.loop.ready.rotate(1)
    scene.pass_time(0.01)
    first.die()
    assert scene.leader().free_in == 0.0
    assert not scene.leader().acting


@pytest.mark.parametrize("seconds", [5.0, 7.3, 9.9])
def test_when_the_leader_resigns_another_takes_over_within_about_a_second(scene: Scene, seconds: float) -> None:
    """Wherever in its lease it does."""
    first = Process(scene, "first")
    scene.pass_time(5)
    second = Process(scene, "second")
    scene.pass_time(seconds)
    resigning = first.loop.create_task(first.leader.resign())
    scene.pass_time(1.2)  # The one that resigned goes on for a while, as a worker does that has something to end.
    assert resigning.done()
    assert (first.leader.term, second.leader.term) == (None, 2)
