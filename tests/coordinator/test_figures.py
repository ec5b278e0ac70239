"""The leader samples what waits, and folds what was counted: for all, in a fiftieth of the time."""

from __future__ import annotations

import pytest

from penstock.coordinator.duties.folding import Folding
from penstock.coordinator.duties.sampling import Sampling
from penstock.coordinator.settings import CoordinatorSettings
from penstock.domain.figures.series import Count, Figures, Route, Tally
from penstock.store import contract as p
from tests.coordinator.conftest import Scene
from tests.coordinator.test_duties import do

MAIL = Route("send", "mail", "general")


@pytest.fixture
def session(scene: Scene) -> int:
    session = scene.register("worker", slots=10)
    scene.sqlite.lead_store(p.LeadStore(session, 1e6)).wait()
    return session


def sample(scene: Scene) -> p.Sample:
    found = scene.sqlite.read_sample().wait()
    assert found is not None
    return found


def gauge(scene: Scene, route: Route = MAIL) -> p.Gauge:
    [found] = [one for one in sample(scene).gauges if one.route == route]
    return found


def sampling(scene: Scene) -> Sampling:
    return Sampling(scene.store, CoordinatorSettings())


def test_a_sample_knows_who_could_take_what(scene: Scene, session: int) -> None:
    scene.register("other", slots=30, queues=("mail",))
    scene.register("elsewhere", slots=50, queues=("else",))
    scene.register("special", slots=50, capabilities=("media",))
    scene.register("coordinator", slots=0, types=())
    scene.world.add(type="send", queue="mail")
    scene.world.add(type="send", queue="mail", capability="gpu")
    do(scene, sampling(scene))
    assert (gauge(scene).workers, gauge(scene).slots) == (2, 20.0)
    lonely = gauge(scene, Route("send", "mail", "gpu"))
    assert (lonely.workers, lonely.slots) == (0, None)


def test_what_is_paused_waits_and_is_not_ready(scene: Scene, session: int) -> None:
    scene.world.add(type="send", queue="mail")
    scene.world.pause("queue", "mail")
    do(scene, sampling(scene))
    assert (gauge(scene).depth.pending, gauge(scene).depth.ready) == (1, 0)


def test_ended_jobs_are_counted_at_first_and_then_once_a_minute(scene: Scene, session: int) -> None:
    duty = sampling(scene)
    do(scene, duty)
    assert sample(scene).ended == p.Ended()
    scene.world.add_dead(session)
    do(scene, duty)
    assert sample(scene).ended == p.Ended()
    scene.pass_time(61)
    do(scene, duty)
    assert sample(scene).ended == p.Ended(dead=1)


def test_it_rests_for_fifty_times_as_long_as_it_took(scene: Scene, session: int) -> None:
    """A store that answers at once is asked every five seconds; one that takes its time, less often."""
    pauses: list[float] = []

    class Slow(Sampling):
        async def do(self, term: int) -> float:
            pauses.append(await super().do(term))
            return pauses[-1]

    do(scene, Slow(scene.store, CoordinatorSettings(sample_interval=5.0)))
    assert pauses == [5.0]

    class SlowStore:
        def __getattr__(self, name: str) -> object:
            return getattr(scene.store, name)

        async def count_gauges(self) -> p.CountedGauges:
            import asyncio

            await asyncio.sleep(2.0)
            counted: p.CountedGauges = await scene.store.count_gauges()
            return counted

    do(scene, Slow(SlowStore(), CoordinatorSettings(sample_interval=5.0)))  # type: ignore[arg-type]
    assert pauses[1] == pytest.approx(100.0, rel=0.01)
    assert sample(scene).seconds == pytest.approx(2.0, rel=0.01)


def test_all_pages_are_folded_however_many(scene: Scene, session: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.coordinator.duties.folding.PAGES", 2)
    for number in range(1, 6):
        page = p.Page("book", number, Tally({MAIL: Figures({Count.COMPLETED: 1})}))
        scene.world.store.heartbeat_worker(p.HeartbeatWorker(session, page=page)).wait()
    do(scene, Folding(scene.store, CoordinatorSettings()))
    assert scene.sqlite.fold_figures(p.FoldFigures()).wait() == 0
    rows = scene.sqlite.read_figures(p.ReadFigures(span=3600, since=0)).wait().rows
    assert sum(row.figures.counts[Count.COMPLETED] for row in rows) == 5
