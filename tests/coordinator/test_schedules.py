"""Schedules in virtual time: fired to the moment, and by the next leader when one has died."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest

from penstock import App, Job
from penstock.coordinator.coordinator import Coordinator
from penstock.coordinator.duties.schedules import Firing
from penstock.coordinator.leader import Leader
from penstock.coordinator.settings import CoordinatorSettings
from penstock.store.contract import ListJobs
from tests.coordinator.conftest import Scene
from tests.simulation.loop import VirtualLoop

LEASE = 10.0


@pytest.fixture
def app(scene: Scene) -> App:
    app = App(scene.sqlite, clock=scene.clock)

    @app.job
    async def tick() -> None: ...

    app.schedules.add("three", job=tick.bind(), every="3s", misfire="all")
    app.schedules.add("seven", job=tick.bind(), every="7s", misfire="all")
    return app


def coordinator(scene: Scene, name: str) -> VirtualLoop:
    session = scene.register(name)

    async def run() -> None:
        leader = Leader(scene.store, lambda: session, name, LEASE)
        await Coordinator(leader, [Firing(scene.store, CoordinatorSettings())], lambda: True).run()

    return scene.begin(name, run)


def jobs(app: App, name: str) -> list[Job]:
    return sorted(app.store.list_jobs(ListJobs(tag=f"schedule:{name}", limit=1000)).wait(), key=lambda job: job.due_at)


def test_each_is_fired_at_its_tick(scene: Scene, app: App) -> None:
    coordinator(scene, "only")
    scene.pass_time(100)
    for name, count in (("three", 33), ("seven", 14)):
        found = jobs(app, name)
        assert len(found) == count
        assert max(job.created_at - job.due_at for job in found) <= timedelta(milliseconds=2)


def test_a_new_one_is_noticed_within_a_second(scene: Scene, app: App) -> None:
    coordinator(scene, "only")
    scene.pass_time(60.5)
    app.schedules.run("three")
    app.schedules.add("new", job=app.client.call_by_name("tick", {}, {}, {}), every="1s")
    scene.pass_time(10)
    late = [job.created_at - job.due_at for job in jobs(app, "new")]
    assert len(late) in (9, 10)
    assert max(late[1:]) <= timedelta(milliseconds=2)


def test_the_next_leader_goes_on_where_the_last_one_was_stopped(scene: Scene, app: App) -> None:
    loops = [coordinator(scene, name) for name in ("first", "second")]
    scene.pass_time(30)
    (leading,) = [one for one in loops if one.name == scene.leader().worker_id]
    leading.frozen = True
    scene.pass_time(40)
    leading.wake_up()
    scene.pass_time(31)
    ticks = [job.due_at for job in jobs(app, "three")]
    assert len(ticks) == 33
    assert {(second - first).total_seconds() for first, second in pairwise(ticks)} == {3.0}
    late = max(job.created_at - job.due_at for job in jobs(app, "three"))
    assert late <= timedelta(seconds=1.1 * LEASE + 2)


def test_two_leaders_at_once_take_each_tick_once(scene: Scene, app: App) -> None:
    """Without the term, which keeps leaders of the past away: the revision is enough."""

    async def run() -> None:
        duty = Firing(scene.store, CoordinatorSettings())
        while True:
            await asyncio.sleep(await duty.do(None))

    for name in ("first", "second"):
        scene.begin(name, run)
    scene.pass_time(100)
    ticks = [job.due_at for job in jobs(app, "three")]
    assert len(ticks) == len(set(ticks)) == 33
