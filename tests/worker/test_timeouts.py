"""Attempts that take too long: cancelled, given up or abandoned, recorded as a timeout, and the slot is free again."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest

from penstock import App, Context, Fixed, JobFailed, State
from penstock.worker.executing import stopping
from tests.worker.running import beside_worker, burst, until


def test_an_async_handler_is_cancelled_recorded_and_retried(app: App) -> None:
    cancelled: list[int] = []

    @app.job(timeout="50ms", attempts=2, backoff=Fixed(0))
    async def slow(ctx: Context) -> str:
        if ctx.attempt == 1:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(ctx.attempt)
                raise
        return "second time"

    job = slow.enqueue()
    burst(app)
    assert job.result(timeout=0) == "second time"
    assert cancelled == [1]
    steps = app.store.read_history(job.id).wait()
    assert [step.event for step in steps] == ["back_off"]
    assert steps[0].error is not None
    assert steps[0].error.type == "TimeoutError"
    assert steps[0].error.message == "the attempt took longer than its timeout of 50ms"
    assert steps[0].error.transient


def test_a_handlers_own_timeout_error_is_its_own(app: App) -> None:
    @app.job(attempts=1)
    async def impatient() -> None:
        async with asyncio.timeout(0.01):
            await asyncio.Event().wait()

    job = impatient.enqueue()
    burst(app)
    error = job.read().error
    assert error is not None
    assert (error.type, error.message) == ("TimeoutError", "")


def test_a_handler_that_swallows_its_cancellation_is_given_up(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stopping, "STOP_SECONDS", 0.05)

    @app.job(timeout="50ms", attempts=1)
    async def stubborn() -> str:
        while not release.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        returned.set()
        return "too late"

    @app.job
    async def next_one() -> str:
        return "ran"

    async def story() -> None:
        job = await stubborn.aenqueue()
        following = await next_one.aenqueue()
        assert await following.aresult(timeout=30) == "ran", "the only slot is usable again"
        read = await job.aread()
        assert (read.state, read.error and read.error.type) == (State.DEAD, "TimeoutError")
        release.set()
        await returned.wait()
        assert (await job.aread()).result is None, "a late result is ignored"

    release, returned = asyncio.Event(), asyncio.Event()
    beside_worker(app, story, concurrency=1)
    assert "it swallows CancelledError" in caplog.text


def test_a_thread_that_overruns_is_abandoned_and_fenced(app: App, caplog: pytest.LogCaptureFixture) -> None:
    release, returned = threading.Event(), threading.Event()

    @app.job(timeout="50ms", attempts=1)
    def overruns() -> str:
        release.wait(30)
        returned.set()
        return "too late"

    @app.job
    def next_one() -> str:
        return threading.current_thread().name

    async def story() -> None:
        stuck = await app.aenqueue_many([overruns.bind() for _ in range(3)])
        following = await app.aenqueue_many([next_one.bind() for _ in range(3)])
        for job in following:
            await job.aresult(timeout=30)
        for job in stuck:
            with pytest.raises(JobFailed, match="TimeoutError: the attempt took longer"):
                await job.aresult(timeout=30)
        release.set()
        await until(returned.is_set, "the abandoned threads end")
        again = await app.aenqueue_many([next_one.bind() for _ in range(6)])
        assert [await job.aresult(timeout=30) for job in again]
        assert [(await job.aread()).result for job in stuck] == [None] * 3

    beside_worker(app, story, concurrency=2)
    assert "its thread cannot be stopped and was given up" in caplog.text


def test_many_jobs_with_different_timeouts_share_one_timer(app: App) -> None:
    @app.job(attempts=1)
    async def waits() -> None:
        await asyncio.Event().wait()

    @app.job(attempts=1)
    async def quick() -> str:
        return "in time"

    limits = [0.3, 0.05, 0.2, 0.1, 0.25, 0.15] * 5
    late = app.enqueue_many(waits.using(timeout=limit).bind() for limit in limits)
    early = app.enqueue_many(quick.using(timeout=limit).bind() for limit in limits)
    burst(app)
    for job, limit in zip(late, limits, strict=True):
        read = job.read()
        assert read.error is not None
        assert read.error.message.endswith(f"its timeout of {limit * 1000:.3g}ms")
        assert read.started_at is not None
        assert read.finished_at is not None
        assert (read.finished_at - read.started_at).total_seconds() >= limit * 0.99
    assert {job.result(timeout=0) for job in early} == {"in time"}


def test_a_workers_ceiling_wins_over_a_longer_timeout(app: App) -> None:
    deadlines: list[datetime | None] = []

    @app.job(timeout=None, attempts=1)
    async def waits(ctx: Context) -> None:
        deadlines.append(ctx.deadline)
        await asyncio.Event().wait()

    job = waits.enqueue()
    burst(app, job_timeout="50ms")
    error = job.read().error
    assert error is not None
    assert error.message.endswith("its timeout of 50ms")
    assert deadlines[0] is not None
    assert deadlines[0] < datetime.now(UTC) + timedelta(seconds=1)
