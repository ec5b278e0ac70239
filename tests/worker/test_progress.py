"""Progress on its way from the handler to the store: rarely, in order, and the last always."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from penstock import App, BatchContext, Context, Fixed, Handler, JobHandle, Progress, State
from penstock.store.contract import SaveProgress, StartJobs
from penstock.worker.finishing import reporter
from tests.worker.running import beside_worker, burst, until, until_state


class Saves:
    """What the worker tells the store, and when."""

    def __init__(self, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at: list[float] = []
        self.texts: list[str] = []
        self._save = app.store.save_progress
        monkeypatch.setattr(app.store, "save_progress", self.save)

    def save(self, news: SaveProgress) -> Any:
        self.at.append(asyncio.get_running_loop().time())
        self.texts += [text for _, text in news.progress]
        return self._save(news)


def test_it_is_stored_at_most_twice_a_second(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reporter.TICK_SECONDS * reporter.PROGRESS_TICKS >= 0.5
    monkeypatch.setattr(reporter, "TICK_SECONDS", 0.01)
    saves = Saves(app, monkeypatch)

    @app.job
    async def work(ctx: Context) -> None:
        said = 0
        while len(saves.at) < 4:
            said += 1
            await ctx.progress(said=said)
            await asyncio.sleep(0)

    work.enqueue()
    burst(app)
    gaps = [later - earlier for earlier, later in zip(saves.at, saves.at[1:], strict=False)]
    assert min(gaps) >= 0.01 * reporter.PROGRESS_TICKS * 0.99
    assert len(saves.texts) == len(set(saves.texts)) == len(saves.at)


def test_what_was_said_once_is_stored_once(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "TICK_SECONDS", 0.001)
    saves = Saves(app, monkeypatch)

    @app.job
    async def work(ctx: Context) -> None:
        while not go_on.is_set():
            await ctx.progress(1)
            await asyncio.sleep(0)

    go_on = asyncio.Event()

    async def story() -> None:
        job = await work.aenqueue()
        await until(lambda: saves.at, "it was stored")
        ticks = 0
        marked = reporter.Reporter._mark_started

        async def mark(self: reporter.Reporter) -> None:
            nonlocal ticks
            ticks += 1
            await marked(self)

        monkeypatch.setattr(reporter.Reporter, "_mark_started", mark)
        await until(lambda: ticks > 3 * reporter.PROGRESS_TICKS, "the reporter looked again")
        assert saves.texts == ['{"percent":1}']
        go_on.set()
        await job.aresult(timeout=30)

    beside_worker(app, story)


def last_of(job: JobHandle[Any]) -> Progress:
    progress = job.read().progress
    assert progress is not None
    return progress


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_the_last_is_kept_however_the_attempt_ended(app: App, plain: bool) -> None:
    @app.job(attempts=1)
    async def work_async(ctx: Context, how: str) -> None:
        await ctx.progress(10)
        await ctx.progress(20, phase=how, rows=3)
        if how == "fails":
            raise ValueError
        if how == "hangs":
            await asyncio.Event().wait()

    @app.job(attempts=1)
    def work_plain(ctx: Context, how: str) -> None:
        ctx.report(10)
        ctx.report(20, phase=how, rows=3)
        if how == "fails":
            raise ValueError
        while how == "hangs" and not ctx.cancelled:
            pause.wait(0.005)

    pause = threading.Event()
    work = work_plain if plain else work_async
    jobs = {how: work.enqueue(how) for how in ("completes", "fails")}
    jobs["hangs"] = work.using(timeout="50ms").enqueue("hangs")
    burst(app)
    assert [job.state() for job in jobs.values()] == [State.COMPLETED, State.DEAD, State.DEAD]
    for how, job in jobs.items():
        assert last_of(job) == Progress(20, how, {"rows": 3})


def test_the_last_of_a_cancelled_attempt_is_kept(app: App) -> None:
    said = asyncio.Event()

    @app.job
    async def work(ctx: Context) -> None:
        await ctx.progress(30, phase="half")
        said.set()
        await asyncio.Event().wait()

    async def story() -> None:
        job = await work.aenqueue()
        await said.wait()
        await job.acancel()
        async with asyncio.timeout(30):
            while (read := await job.aread()).state is not State.CANCELLED:
                await asyncio.sleep(0.005)
        assert read.progress == Progress(30, "half")

    beside_worker(app, story)


def test_each_attempt_begins_without_progress(app: App) -> None:
    second, go_on = asyncio.Event(), asyncio.Event()

    @app.job(attempts=2, backoff=Fixed(0))
    async def work(ctx: Context) -> None:
        if ctx.attempt == 1:
            await ctx.progress(80)
            raise ValueError
        second.set()
        await go_on.wait()

    async def story() -> None:
        job = await work.aenqueue()
        await second.wait()
        async with asyncio.timeout(30):
            while (read := await job.aread()).state is not State.RUNNING:
                await asyncio.sleep(0.005)
        assert (read.attempt, read.progress) == (2, None)
        go_on.set()
        await job.aresult(timeout=30)

    beside_worker(app, story)


def test_jobs_of_one_call_have_progress_of_their_own_while_it_runs(app: App) -> None:
    go_on = asyncio.Event()

    @app.batch_job(size=2, wait="1h")
    async def work(ctx: BatchContext, items: list[int]) -> list[int]:
        for job, item in zip(ctx.jobs, items, strict=True):
            await job.progress(item)
        await go_on.wait()
        return items

    async def story() -> None:
        jobs = await app.aenqueue_many([work.bind(10), work.bind(20)])
        async with asyncio.timeout(30):
            while None in (seen := [(await job.aread()).progress for job in jobs]):
                await asyncio.sleep(0.005)
        assert seen == [Progress(10), Progress(20)]
        go_on.set()

    beside_worker(app, story)


# The hook


class Watched(Handler[int, None]):
    def __init__(self) -> None:
        self.told: list[float | str | None] = []
        self.go_on = asyncio.Event()

    async def process(self, ctx: Context, data: int) -> None:
        await ctx.progress(data)
        await self.go_on.wait()

    async def on_progress(self, ctx: Context, progress: Progress) -> None:
        self.told.append(progress.percent)

    async def on_complete(self, ctx: Context, result: None) -> None:
        self.told.append("complete")


def test_a_job_that_ends_while_its_progress_is_being_stored_tells_it_once(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    handler = Watched()
    save = app.store.save_progress

    async def slow_save(news: SaveProgress) -> list[int]:
        handler.go_on.set()
        await until(lambda: "complete" in handler.told, "the job has ended meanwhile")
        return await save(news)

    monkeypatch.setattr(app.store, "save_progress", slow_save)
    app.register(handler).enqueue(7)
    burst(app)
    assert handler.told == [7, "complete"]


def test_a_slow_hook_is_told_the_newest_and_not_all(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "TICK_SECONDS", 0.001)
    saves = Saves(app, monkeypatch)
    handler = Watched()
    said_all = asyncio.Event()

    async def process(ctx: Context, data: int) -> None:
        for number in range(5):
            await ctx.progress(number)
            await until(lambda: len(saves.at) > number, "it was stored")  # noqa: B023 — it is awaited here
        said_all.set()

    class Slow(Watched):
        async def process(self, ctx: Context, data: int) -> None:
            await process(ctx, data)

        async def on_progress(self, ctx: Context, progress: Progress) -> None:
            await said_all.wait()
            await super().on_progress(ctx, progress)

    handler = Slow()
    app.register(handler).enqueue(7)
    burst(app)
    assert handler.told == [0, 4, "complete"]


def test_a_start_that_a_crash_of_the_store_has_undone_is_told_again(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporter, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(reporter, "AGAIN_SECONDS", 0.05)
    start_jobs = app.store.start_jobs
    undone: list[StartJobs] = []

    def start(starts: StartJobs) -> Any:
        if undone:
            return start_jobs(starts)
        undone.append(starts)
        return app.store.read_clock()

    monkeypatch.setattr(app.store, "start_jobs", start)
    over = asyncio.Event()

    @app.job
    async def work() -> None:
        await over.wait()

    async def story() -> None:
        job = await work.aenqueue()
        await until(lambda: undone, "its start was told")
        await until_state(job, State.RUNNING)
        over.set()
        await job.aresult(timeout=30)

    beside_worker(app, story)
