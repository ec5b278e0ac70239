"""Recycling: a process that has done enough, or holds too much, is replaced; no job is lost or cut off (X4)."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections import Counter
from typing import Any

import pytest

from penstock import App, State
from penstock.worker.processes import memory
from penstock.worker.processes.memory import resident_bytes
from tests.worker import process_jobs as jobs
from tests.worker.running import PATIENCE_SECONDS, burst, until


def run(app: App, **settings: Any) -> bool:
    return asyncio.run(asyncio.wait_for(app.run_worker(**settings), PATIENCE_SECONDS))


# The worker itself


def test_a_worker_asks_to_be_replaced_after_so_many_jobs(app: App) -> None:
    begun: Counter[int] = Counter()

    @app.job
    async def work(number: int) -> None:
        begun[number] += 1
        await asyncio.sleep(0)

    @app.job
    def plain(number: int) -> None:
        begun[number] += 1

    @app.batch_job(size=4, wait="5ms")
    async def batch(numbers: list[int]) -> list[None]:
        begun.update(numbers)
        return [None] * len(numbers)

    handles = [(work, plain, batch)[number % 3].enqueue(number) for number in range(23)]
    runs = []
    while True:
        before = begun.total()
        runs.append(run(app, burst=True, max_jobs=5))
        assert begun.total() - before == (5 if runs[-1] else 3)
        if not runs[-1]:
            break
    assert runs == [True, True, True, True, False]
    assert {job.state() for job in handles} == {State.COMPLETED}
    assert begun == Counter(range(23)), "each ran once"


def test_what_was_claimed_and_not_begun_is_given_back(app: App) -> None:
    @app.job
    async def work() -> None:
        await asyncio.sleep(0)

    handles = [work.enqueue() for _ in range(10)]
    assert run(app, max_jobs=4, concurrency=2) is True
    states = Counter(job.state() for job in handles)
    assert states == {State.COMPLETED: 4, State.PENDING: 6}
    assert {job.read().attempt for job in handles if job.state() is State.PENDING} == {0}


def test_a_job_that_outlasts_the_grace_of_a_stop_is_finished_all_the_same(app: App) -> None:
    @app.job(attempts=1)
    async def slow() -> str:
        await asyncio.sleep(0.3)
        return "not cut off"

    job = slow.enqueue()
    assert run(app, max_jobs=1, shutdown_timeout="1ms") is True
    assert job.result(0) == "not cut off"


def test_a_signal_while_it_finishes_is_the_first_one(app: App, caplog: pytest.LogCaptureFixture) -> None:
    """Jobs have the time of an orderly stop from then on; and the worker is not to be replaced."""
    caplog.set_level(logging.INFO)
    gate = asyncio.Event()

    @app.job(attempts=1)
    async def slow() -> str:
        await gate.wait()
        return "finished"

    async def main() -> bool:
        job = await slow.aenqueue()
        worker = asyncio.ensure_future(app.run_worker(max_jobs=1))
        await until(lambda: "to be replaced: it has begun 1 job" in caplog.text, "it is to be replaced")
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: "stopping: finishing what runs" in caplog.text, "it was told to stop")
        gate.set()
        replace = await asyncio.wait_for(worker, PATIENCE_SECONDS)
        assert await job.aresult(0) == "finished"
        return replace

    assert asyncio.run(main()) is False


def test_a_second_signal_while_it_finishes_is_the_second(app: App, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    @app.job(attempts=1)
    async def endless() -> None:
        await asyncio.Event().wait()

    job = endless.enqueue()

    async def main() -> bool:
        worker = asyncio.ensure_future(app.run_worker(max_jobs=1))
        await until(lambda: "to be replaced" in caplog.text, "it is to be replaced")
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: "stopping: " in caplog.text, "the first")
        os.kill(os.getpid(), signal.SIGTERM)
        return await asyncio.wait_for(worker, PATIENCE_SECONDS)

    assert asyncio.run(main()) is False
    assert (job.state(), job.read().attempt) == (State.PENDING, 0)


def test_a_worker_that_holds_too_much_asks_to_be_replaced(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(memory, "LOOK_SECONDS", 0.01)
    held = [200 * 2**20]
    monkeypatch.setattr(memory, "resident_bytes", lambda: held[0])

    @app.job(attempts=1)
    async def grow() -> str:
        held[0] = 300 * 2**20
        await until(lambda: "to be replaced" in caplog.text, "it is noticed")
        return "finished"

    job = grow.enqueue()
    assert run(app, max_memory="256Mi") is True
    assert "it holds 300 MiB, more than 256 MiB" in caplog.text
    assert job.result(0) == "finished"


def test_nothing_is_recycled_unless_asked(app: App) -> None:
    @app.job
    async def work() -> None: ...

    for _ in range(3):
        work.enqueue()
    assert run(app, burst=True) is False


# Child processes


def test_a_child_is_replaced_after_so_many_jobs(process_app: App) -> None:
    handles = [jobs.pid_of.enqueue() for _ in range(6)]
    assert run(process_app, burst=True, process_slots=1, max_jobs=2) is False, "the worker itself began nothing"
    pids = Counter(job.result(0)[0] for job in handles)
    assert sorted(pids.values()) == [2, 2, 2]


def test_a_child_that_holds_too_much_is_replaced(process_app: App) -> None:
    limit = resident_bytes() + 64 * 2**20
    modest = [jobs.hog.enqueue(0) for _ in range(2)]
    burst(process_app, process_slots=1, max_memory=limit)
    assert len({job.result(0) for job in modest}) == 1
    greedy = [jobs.hog.enqueue(limit) for _ in range(2)]
    burst(process_app, process_slots=1, max_memory=limit)
    assert len({job.result(0) for job in greedy}) == 2


def test_resident_memory_follows_what_is_held() -> None:
    before = resident_bytes()
    held = b"x" * (64 * 2**20)
    assert resident_bytes() - before >= 60 * 2**20
    del held
    assert resident_bytes() - before < 60 * 2**20
