"""The faulty line: each fault does to a call what its name says, on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.domain.errors import CommitUncertain, StoreClosed, StoreUnavailable
from penstock.store.contract import CancelJob, Enqueued, EnqueueJobs, JobSpec, ListJobs, NewJob
from penstock.store.sqlite.store import SqliteStore
from tests.simulation.faulty import FaultyStore
from tests.simulation.line import Line
from tests.simulation.loop import Time, VirtualLoop
from tests.simulation.weather import CALM, Fault, Weather

JOB = NewJob("0190a000-0000-7000-8000-000000000001", "{}", JobSpec(type="task"))
ENQUEUE = EnqueueJobs([JOB])


@dataclass(frozen=True, slots=True, kw_only=True)
class OneFault(Weather):
    """Every call meets the same fault."""

    fault: Fault

    def draw(self, name: str, random: Random) -> Fault:
        return self.fault


class Bench:
    """A process, the world around it, and the line between the process and a store."""

    def __init__(self, store: SqliteStore, weather: Weather) -> None:
        self.real = store
        self.time = Time(Random(0))
        self.outside = VirtualLoop(self.time, "world")
        self.loop = VirtualLoop(self.time, "process")
        self.deaths = 0
        self.line = Line(weather, Random(0), self.loop, self.outside, self._die)
        self.store: Any = FaultyStore(store, self.line)

    def _die(self) -> None:
        self.deaths += 1
        self.loop.frozen = True

    def run(self, story: Callable[[], Awaitable[Any]], seconds: float = 60.0) -> Any:
        """What the story answers, or None if it has not ended by then."""

        async def tell() -> Any:
            return await story()

        task = self.loop.create_task(tell())
        timer = self.outside.call_later(seconds, lambda: None)
        self.time.run(lambda: task.done() or self.time.now >= timer.when())
        return task.result() if task.done() else None

    def stored(self) -> int:
        return len(self.real.list_jobs(ListJobs()).wait())


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Callable[[Weather], Bench]]:
    store = SqliteStore(str(tmp_path / "jobs.db"), synchronous="normal")
    yield lambda weather: Bench(store, weather)
    store.close()


Benches = Callable[[Weather], Bench]


def test_in_calm_weather_a_call_is_answered_after_a_moment(bench: Benches) -> None:
    calm = bench(CALM)
    assert calm.run(lambda: calm.store.enqueue_jobs(ENQUEUE)) == [Enqueued(JOB.id, True)]
    assert 0 < calm.time.now < 0.01
    assert calm.stored() == 1


@pytest.mark.parametrize(
    ("fault", "error", "stored"),
    [
        (Fault.REFUSED, StoreUnavailable, 0),
        (Fault.LOST, CommitUncertain, 0),
        (Fault.UNCERTAIN, CommitUncertain, 1),
    ],
    ids=lambda value: value.name if isinstance(value, Fault) else None,
)
def test_an_error_and_what_is_stored(bench: Benches, fault: Fault, error: type[Exception], stored: int) -> None:
    faulty = bench(OneFault(fault=fault))
    with pytest.raises(error):
        faulty.run(lambda: faulty.store.enqueue_jobs(ENQUEUE))
    assert faulty.stored() == stored


def test_what_is_carried_out_twice_is_answered_once(bench: Benches) -> None:
    faulty = bench(OneFault(fault=Fault.TWICE))
    assert faulty.run(lambda: faulty.store.enqueue_jobs(ENQUEUE)) == [Enqueued(JOB.id, True)]
    assert faulty.stored() == 1


@pytest.mark.parametrize(("fault", "stored"), [(Fault.DIED_BEFORE, 0), (Fault.DIED_AFTER, 1)])
def test_a_process_that_dies_hears_nothing(bench: Benches, fault: Fault, stored: int) -> None:
    faulty = bench(OneFault(fault=fault))
    assert faulty.run(lambda: faulty.store.enqueue_jobs(ENQUEUE)) is None
    assert (faulty.deaths, faulty.stored()) == (1, stored)


def test_errors_of_the_store_come_through(bench: Benches) -> None:
    calm = bench(CALM)
    with pytest.raises(Exception, match=JOB.id):
        calm.run(lambda: calm.store.cancel_job(CancelJob(JOB.id)))


def test_a_call_goes_its_way_when_nobody_waits_for_it(bench: Benches) -> None:
    calm = bench(CALM)

    async def story() -> None:
        sending = asyncio.ensure_future(calm.store.enqueue_jobs(ENQUEUE))
        await asyncio.sleep(0)
        sending.cancel()
        await asyncio.sleep(1)

    calm.run(story)
    assert calm.stored() == 1


@pytest.mark.parametrize(("remote", "stored"), [(False, 0), (True, 1)])
def test_what_a_dead_process_had_sent_arrives_at_a_server_only(bench: Benches, remote: bool, stored: int) -> None:
    calm = bench(Weather(remote=remote))

    async def story() -> None:
        sending = asyncio.ensure_future(calm.store.enqueue_jobs(ENQUEUE))
        await asyncio.sleep(0)
        calm.loop.frozen = True
        await sending

    calm.run(story)
    assert calm.stored() == stored


def test_a_cut_line_refuses_or_hangs(bench: Benches) -> None:
    calm = bench(CALM)
    calm.line.cut(5.0, refusing=True)
    with pytest.raises(StoreUnavailable):
        calm.run(lambda: calm.store.enqueue_jobs(ENQUEUE))
    assert calm.time.now < 1
    calm.line.cut(5.0, refusing=False)
    calm.run(lambda: calm.store.enqueue_jobs(ENQUEUE))
    assert calm.time.now > 5


def test_an_ended_process_reaches_nothing(bench: Benches) -> None:
    calm = bench(CALM)
    calm.line.end()
    with pytest.raises(StoreClosed):
        calm.run(lambda: calm.store.enqueue_jobs(ENQUEUE))
    with pytest.raises(StoreClosed), calm.store.transaction():
        pass
    assert calm.stored() == 0


@pytest.mark.parametrize(
    ("fault", "stored"),
    [(Fault.NONE, 1), (Fault.REFUSED, 0), (Fault.LOST, 0), (Fault.UNCERTAIN, 1), (Fault.DIED_BEFORE, 0)],
)
def test_the_end_of_a_transaction_meets_the_same_faults(bench: Benches, fault: Fault, stored: int) -> None:
    faulty = bench(OneFault(fault=fault))

    async def story() -> str:
        try:
            with faulty.store.transaction() as tx:
                await faulty.store.enqueue_jobs(EnqueueJobs([JOB], tx))
        except (StoreUnavailable, CommitUncertain, StoreClosed) as error:
            return type(error).__name__
        return "committed"

    faulty.run(story)
    assert faulty.stored() == stored


def test_plain_calls_are_refused(bench: Benches) -> None:
    with pytest.raises(RuntimeError, match="would block the simulation"):
        bench(CALM).store.read_clock().wait()


def test_a_missed_hint_costs_one_poll(bench: Benches) -> None:
    deaf = bench(Weather(deaf=1.0))

    async def story() -> float:
        listener = deaf.store.listen(0.1)
        deaf.real.enqueue_jobs(ENQUEUE).wait()
        heard = await listener.wait(10.0)
        listener.close()
        assert heard
        return deaf.loop.time()

    assert deaf.run(story) == pytest.approx(0.2)
