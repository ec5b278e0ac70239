"""Threads that cannot be stopped: their number is bounded, and a worker that is full of them says so."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from typing import cast

import pytest

from penstock import App, State
from penstock.worker.executing.taken import Slots
from penstock.worker.liveness.health import Pulse
from penstock.worker.liveness.heartbeat import HeartbeatThread
from penstock.worker.liveness.watchdog import Watchdog
from penstock.worker.running.isolation import Isolation
from penstock.worker.slots import SlotGroup
from penstock.worker.worker import Worker
from tests.worker.running import PATIENCE_SECONDS, beside_worker, burst, until, until_state


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """What hangs goes on when it opens, at the latest at the end of the test."""
    gate = threading.Event()
    yield gate
    gate.set()


def hanging(app: App, gate: threading.Event) -> list[int]:
    """A job type that hangs until the gate opens; and the threads that it has hung in."""
    threads: list[int] = []

    @app.job(timeout="50ms", attempts=1)
    def hang() -> None:
        threads.append(threading.get_ident())
        gate.wait(60)

    return threads


def test_there_are_never_more_than_twice_the_slots(
    app: App, gate: threading.Event, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = hanging(app, gate)
    pulses: list[Pulse] = []
    make = Worker._pulse

    def keep(worker: Worker, watchdog: Watchdog, heartbeat: HeartbeatThread) -> Pulse:
        pulses.append(make(worker, watchdog, heartbeat))
        return pulses[-1]

    monkeypatch.setattr(Worker, "_pulse", keep)

    async def story() -> None:
        handles = [await app.aenqueue("hang") for _ in range(7)]
        await until(lambda: "no more jobs are taken (hang)" in caplog.text, "the worker is full of them, and says so")
        assert len(threads) == 4
        for job in handles[:4]:
            await until_state(job, State.DEAD)
        for job in handles[4:]:
            await until_state(job, State.PENDING)
        assert "4 calls of handlers were given up and still run" in (pulses[0].jam() or "")
        gate.set()
        for job in handles[4:]:
            await job.aresult(PATIENCE_SECONDS)  # As soon as they end, it goes on.
        assert pulses[0].jam() is None

    beside_worker(app, story, concurrency=2)


def test_a_burst_that_is_full_of_them_ends(app: App, gate: threading.Event, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    threads = hanging(app, gate)
    handles = [app.enqueue("hang") for _ in range(5)]
    burst(app, concurrency=1)
    assert len(threads) == 2
    assert [job.state() for job in handles].count(State.DEAD) == 2
    assert "to be replaced: 2 calls of handlers were given up" in caplog.text


@pytest.mark.parametrize(("count", "slots"), [(0, 0), (3, 0), (4, 1), (6, 3), (7, 4)])
def test_each_beyond_the_slots_takes_one(count: int, slots: int) -> None:
    line = Slots(SlotGroup(types=("hang",), slots=3), cast(Isolation, None))
    for _ in range(count):
        line.count_stuck(1)
    assert line.occupied == slots
    assert (line.jam is None) is (slots < 3)
