"""What a handler is told, what it can say while it runs, and follow-ups that exist only if it completes."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from penstock import App, Context, Fixed, State, Tenant, UsageError, current
from penstock.store.contract import ListJobs
from tests.worker.running import beside_worker, burst


def test_the_context_tells_about_the_attempt(app: App) -> None:
    told: list[Context] = []
    finals: list[bool] = []

    @app.job(queue="mail", attempts=2, backoff=Fixed(0), tenant=Tenant("acme", "eu"), tags=["a", "b"])
    async def work(ctx: Context, word: str) -> None:
        told.append(ctx)
        finals.append(ctx.final)
        assert current().id == ctx.id
        if ctx.attempt == 1:
            raise ValueError(word)

    job = work.enqueue("once")
    burst(app)
    first, second = told
    assert (first.id, first.type, first.queue, first.max_attempts) == (job.id, "work", "mail", 2)
    assert (first.tenant, first.tags) == (Tenant("acme", "eu"), ("a", "b"))
    assert (first.attempt, second.attempt, finals) == (1, 2, [False, True])
    assert second.token > first.token
    assert first.idempotency_key == second.idempotency_key == job.id
    assert first.deadline is not None


def test_the_context_tells_when_the_attempt_was_due(app: App) -> None:
    """The first when the job was, a later one when its backoff was over."""
    told: list[datetime] = []

    @app.job(attempts=2, backoff=Fixed(0))
    async def work(ctx: Context) -> None:
        told.append(ctx.due_at)
        if ctx.attempt == 1:
            raise ValueError

    due = datetime.now(UTC)
    job = work.using(at=due).enqueue()
    burst(app)
    assert told[0] == due
    read = app.store.read_job(job.id).wait()
    assert read is not None
    assert told[1] == read.due_at > due


def test_current_outside_of_a_handler_says_so() -> None:
    with pytest.raises(UsageError, match="outside of a job's handler"):
        current()


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_current_works_below_the_handler(app: App, plain: bool) -> None:
    def below() -> int:
        return current().attempt

    async def handler_async() -> int:
        return await asyncio.create_task(deeper())

    async def deeper() -> int:
        return below()

    def handler_plain() -> int:
        return below()

    app.job(name="work")(handler_plain if plain else handler_async)
    job = app.enqueue("work")
    burst(app)
    assert job.result(timeout=0) == 1


def test_progress_is_seen_while_running_and_the_last_is_kept(app: App) -> None:
    go_on = asyncio.Event()

    @app.job
    async def work(ctx: Context) -> str:
        await ctx.progress(25, phase="reading", rows=7)
        await go_on.wait()
        await ctx.progress(50)
        await ctx.progress(100, phase="done")
        return "ok"

    async def story() -> None:
        job = await work.aenqueue()
        async with asyncio.timeout(30):
            while (progress := (await job.aread()).progress) is None:
                await asyncio.sleep(0.01)
        assert (progress.percent, progress.phase, progress.data) == (25, "reading", {"rows": 7})
        assert (await job.aread()).state is State.RUNNING
        go_on.set()
        assert await job.aresult(timeout=30) == "ok"
        last = (await job.aread()).progress
        assert last is not None
        assert (last.percent, last.phase) == (100, "done")

    beside_worker(app, story)


def test_follow_ups_exist_only_if_the_job_completed(app: App) -> None:
    @app.job
    async def follow_up(of: str) -> str:
        return of

    @app.job(attempts=2, backoff=Fixed(0))
    async def parent(ctx: Context, outcome: str) -> None:
        ctx.enqueue(follow_up.bind(f"{outcome} {ctx.attempt}"))
        if outcome == "dies" or (outcome == "recovers" and ctx.attempt == 1):
            raise ValueError(outcome)

    parents = {outcome: parent.enqueue(outcome) for outcome in ("completes", "dies", "recovers")}
    burst(app)
    found = app.store.list_jobs(ListJobs(type="follow_up")).wait()
    assert sorted(job.result for job in found) == ["completes 1", "recovers 2"]
    assert {job.parent for job in found} == {parents["completes"].id, parents["recovers"].id}


def test_a_follow_up_that_is_not_a_call_is_a_clear_error(app: App) -> None:
    @app.job(attempts=1)
    async def parent(ctx: Context) -> None:
        wrong: Any = parent
        ctx.enqueue(wrong)

    job = parent.enqueue()
    burst(app)
    error = job.read().error
    assert error is not None
    assert "takes a call made by bind() or a workflow, not JobType" in error.message
