"""Inline mode: an enqueue returns when its job has ended, wherever the enqueue was made."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from penstock import App, Context, DoNotRetry, JobFailed, Retry
from penstock.testing import EndlessRun, Sandbox, inline, sandbox


@pytest.fixture
def jobs(app: App) -> Iterator[Sandbox]:
    with inline(app) as made:
        yield made


def test_a_job_has_ended_when_enqueue_returns(app: App, jobs: Sandbox) -> None:
    @app.job(attempts=3)
    async def flaky(ctx: Context, name: str) -> str:
        if not ctx.final:
            raise Retry(after="1h")
        return f"{name} at attempt {ctx.attempt}"

    before = jobs.clock.now()
    job = flaky.enqueue("ada")
    assert job.state() == "completed"
    assert job.result() == "ada at attempt 3"
    assert (jobs.clock.now() - before).total_seconds() == 7200
    jobs.assert_enqueued(flaky, name="ada", count=1)


def test_async_code(app: App, jobs: Sandbox) -> None:
    @app.job
    async def work(number: int) -> int:
        await asyncio.sleep(0)
        return number * 2

    async def test() -> list[int]:
        alone = await work.aenqueue(1)
        together = await asyncio.gather(work.aenqueue(2), work.aenqueue(3))
        many = await app.aenqueue_many(work.bind(number) for number in (4, 5))
        return [await job.aresult(timeout=0) for job in [alone, *together, *many]]

    assert asyncio.run(test()) == [2, 4, 6, 8, 10]


def test_enqueue_many_and_delays(app: App, jobs: Sandbox) -> None:
    @app.job
    def work(number: int) -> int:
        return number * 2

    assert [job.result(timeout=0) for job in app.enqueue_many(work.bind(number) for number in range(3))] == [0, 2, 4]
    assert work.using(delay="3d").enqueue(4).result(timeout=0) == 8


def test_a_dead_job_fails_the_enqueue(app: App) -> None:
    @app.job
    async def refuse() -> None:
        raise DoNotRetry("never")

    with inline(app), pytest.raises(JobFailed, match="DoNotRetry: never"):
        refuse.enqueue()
    with inline(app, strict=False):
        job = refuse.enqueue()
        with pytest.raises(JobFailed, match="never"):
            job.result()


@pytest.mark.parametrize("kind", ["async", "plain"])
def test_a_handler_that_enqueues_has_the_result_at_once(app: App, jobs: Sandbox, kind: str) -> None:
    @app.job(attempts=2)
    async def child(ctx: Context, number: int) -> int:
        if ctx.attempt == 1:
            raise Retry(after="5m")
        return number + 1

    @app.job
    async def async_parent() -> int:
        return await (await child.aenqueue(1)).aresult()

    @app.job
    def plain_parent() -> int:
        return child.enqueue(1).result()

    parent = async_parent if kind == "async" else plain_parent
    assert parent.enqueue().result(timeout=0) == 2
    assert [job.type for job in jobs.enqueued] == [parent.name, "child"]


def test_a_dead_child_does_not_kill_its_parent_and_is_reported(app: App, jobs: Sandbox) -> None:
    @app.job
    async def child() -> None:
        raise DoNotRetry("never")

    @app.job
    async def parent() -> str:
        return (await child.aenqueue()).id

    with pytest.raises(JobFailed, match=r"\(child\) is dead"):
        parent.enqueue()
    assert jobs.assert_enqueued(parent).result() == jobs.assert_enqueued(child).id


@pytest.mark.parametrize("kind", ["async", "plain"])
def test_a_job_that_enqueues_itself_for_ever(
    app: App, jobs: Sandbox, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.testing.runs.ATTEMPTS_MAX", 40)

    @app.job
    async def async_tick() -> None:
        await async_tick.aenqueue()

    @app.job
    def plain_tick() -> None:
        plain_tick.enqueue()

    with pytest.raises(EndlessRun, match=r"began 40 attempts"):
        (async_tick if kind == "async" else plain_tick).enqueue()


def test_in_a_transaction_it_runs_after_the_commit(app: App, jobs: Sandbox) -> None:
    @app.job
    async def work() -> str:
        return "done"

    with app.transaction() as tx:
        tx.execute("CREATE TABLE orders (id INTEGER)")
        job = work.using(conn=tx).enqueue()
        jobs.assert_not_enqueued()
    assert job.result(timeout=0) == "done"

    async def test() -> str:
        async with app.atransaction() as tx:
            job = await work.using(conn=tx).aenqueue()
        return await job.aresult(timeout=0)

    assert asyncio.run(test()) == "done"


def test_it_joins_an_open_sandbox_and_ends_with_its_block(app: App) -> None:
    @app.job
    async def work() -> None: ...

    with sandbox(app) as jobs:
        with inline(app) as joined:
            assert joined is jobs
            assert work.enqueue().state() == "completed"
        with jobs.inline():
            assert work.enqueue().state() == "completed"
        assert work.enqueue().state() == "pending"
        jobs.assert_enqueued(work, count=3)
