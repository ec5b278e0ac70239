"""Cancelling: a waiting job at once, a running async one promptly, a thread by a flag."""

from __future__ import annotations

import asyncio
import threading

import pytest

from penstock import App, Context, Fixed, JobCancelled, State, UnknownJob, current
from tests.worker.running import beside_worker, burst


def test_a_waiting_job_is_cancelled_at_once_and_never_runs(app: App) -> None:
    ran: list[str] = []

    @app.job
    async def work(name: str) -> None:
        ran.append(name)

    waiting, scheduled, other = work.enqueue("waiting"), work.using(delay="1h").enqueue("scheduled"), work.enqueue("x")
    assert (waiting.cancel().before, waiting.state()) == (State.PENDING, State.CANCELLED)
    assert (scheduled.cancel().before, scheduled.state()) == (State.SCHEDULED, State.CANCELLED)
    with pytest.raises(JobCancelled, match="was cancelled"):
        waiting.result(timeout=0)
    burst(app)
    assert ran == ["x"]
    assert other.cancel().after is State.COMPLETED, "a final job stays as it is"


def test_a_running_async_job_sees_the_cancellation(app: App) -> None:
    seen: list[bool] = []

    begun = asyncio.Event()

    @app.job(attempts=5)
    async def works(ctx: Context) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append(ctx.cancelled)
            raise

    async def story() -> None:
        job = await works.aenqueue()
        await begun.wait()
        answer = await job.acancel()
        assert answer.after in (State.CLAIMED, State.RUNNING), "it is asked to stop"
        with pytest.raises(JobCancelled, match="cancelled while it was running"):
            await job.aresult(timeout=30)
        read = await job.aread()
        assert (read.attempt, read.decided_by) == (1, "operator")

    beside_worker(app, story)
    assert seen == [True]


def test_cancelling_right_after_other_news_is_noticed_at_once(app: App) -> None:
    """The worker looks for cancellations at most every so often; one that falls between must not be forgotten."""

    @app.job
    async def works() -> None:
        begun.release()
        await asyncio.Event().wait()

    @app.job
    async def noise() -> None: ...

    begun = asyncio.Semaphore(0)

    async def story() -> None:
        for _ in range(5):
            job = await works.aenqueue()
            await begun.acquire()
            while await job.astate() is not State.RUNNING:
                await asyncio.sleep(0.005)
            await (await noise.aenqueue()).aresult(timeout=30)
            await job.acancel()
            with pytest.raises(JobCancelled):
                await job.aresult(timeout=4)

    beside_worker(app, story, heartbeat_interval=3600)


def test_a_thread_sees_the_flag_and_its_result_does_not_count(app: App) -> None:
    begun = threading.Event()

    @app.job(attempts=5)
    def works() -> str:
        context = current()
        begun.set()
        while not context.cancelled:
            pause.wait(0.005)
        return "stopped by itself"

    pause = threading.Event()

    async def story() -> None:
        job = await works.aenqueue()
        while not begun.is_set():
            await asyncio.sleep(0.005)
        await job.acancel()
        with pytest.raises(JobCancelled):
            await job.aresult(timeout=30)
        assert (await job.aread()).result is None

    beside_worker(app, story)


def test_a_cancelled_thread_that_raises_is_not_retried(app: App) -> None:
    begun = threading.Event()

    @app.job(attempts=5, backoff=Fixed(0))
    def works(ctx: Context) -> None:
        begun.set()
        while not ctx.cancelled:
            pause.wait(0.005)
        raise RuntimeError("stopping")

    pause = threading.Event()

    async def story() -> None:
        job = await works.aenqueue()
        while not begun.is_set():
            await asyncio.sleep(0.005)
        await job.acancel()
        with pytest.raises(JobCancelled):
            await job.aresult(timeout=30)
        assert (await job.aread()).attempt == 1

    beside_worker(app, story)


def test_an_unknown_job_cannot_be_cancelled(app: App) -> None:
    missing = app.client.new_id()
    with pytest.raises(UnknownJob, match=f"no job has the id {missing}"):
        app.get(missing)


def test_whoever_cancels_is_told_what_was_found_and_no_more(app: App) -> None:
    assert repr(app.enqueue("work").cancel()).count("=") == 2
