"""What a job makes and the store refuses: that attempt fails, and nobody else suffers for it."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import App, Concurrency, Context, Handler, State, Unique
from penstock.store.contract import ListJobs, ListWorkflows
from tests.worker.running import burst


def test_what_the_store_refuses_fails_one_attempt_and_holds_up_nobody(app: App) -> None:
    """Two declarations give one key two limits, which only the store can see."""

    @app.job(limit=Concurrency("shop:{shop}", 1))
    async def visit(shop: int) -> int:
        return shop

    @app.job(limit=Concurrency("shop:7", 2), capability="absent")
    async def clash() -> None: ...

    told: list[str] = []

    @app.job(attempts=1)
    class Makes(Handler[dict[str, str], str]):
        async def process(self, ctx: Context, data: dict[str, str]) -> str:
            ctx.enqueue(visit.bind(7))
            return "made"

        async def on_complete(self, ctx: Context, result: str) -> None:
            told.append(result)

        async def on_failed(self, ctx: Context, error: BaseException) -> None:
            told.append(str(error))

    @app.job
    async def other() -> None: ...

    clash.enqueue()
    made = app.enqueue("Makes", {})
    others = [other.enqueue() for _ in range(5)]
    burst(app)
    job = made.read()
    assert (job.state, [one.state() for one in others]) == (State.DEAD, [State.COMPLETED] * 5)
    assert job.error is not None
    assert "the key 'shop:7' has two limits" in job.error.message
    assert told == [job.error.message]
    assert app.store.list_jobs(ListJobs(type="visit")).wait() == []


def test_a_workflow_that_the_store_refuses_fails_the_job_that_makes_it(app: App) -> None:
    @app.job(limit=Concurrency("shop:{shop}", 1))
    async def visit(shop: int) -> int:
        return shop

    @app.job(limit=Concurrency("shop:7", 2), capability="absent")
    async def clash() -> None: ...

    @app.job(attempts=1)
    async def makes(ctx: Context) -> None:
        flow = app.workflow("visits")
        flow.step(visit.bind(7))
        ctx.enqueue(flow)

    clash.enqueue()
    made = makes.enqueue()
    burst(app)
    assert made.state() is State.DEAD
    assert app.store.list_workflows(ListWorkflows()).wait() == []


@pytest.mark.parametrize("option", [{"limit": Concurrency("page:{url}", 1)}, {"unique": Unique("page:{url}")}])
def test_a_key_that_no_store_can_hold_fails_the_attempt_that_makes_it(app: App, option: Any) -> None:
    @app.job(**option)
    async def fetch(url: str) -> None: ...

    @app.job(attempts=1)
    async def makes(ctx: Context) -> None:
        ctx.enqueue(fetch.bind("a\0b"))

    made = makes.enqueue()
    burst(app)
    error = made.read().error
    assert error is not None
    assert "which no store can hold: no NUL" in error.message
