"""Ordered keys as a handler sees them (L2)."""

from __future__ import annotations

import asyncio

from penstock import App, Concurrency, Fixed, State
from tests.worker.running import beside_worker, until_state

LINE = Concurrency("account:{account}", 1, ordered=True)


def test_those_behind_wait_for_the_retries_of_the_first_and_others_do_not(app: App) -> None:
    seen: list[tuple[int, str]] = []

    @app.job(limit=LINE, attempts=3, backoff=Fixed("20ms"))
    async def apply(account: int, event: str, fails: int = 0) -> None:
        seen.append((account, event))
        if seen.count((account, event)) <= fails:
            raise RuntimeError("not yet")

    async def story() -> None:
        jobs = await app.aenqueue_many([
            apply.bind(1, "open", fails=2), apply.bind(1, "pay", fails=99), apply.bind(2, "open"),
            apply.bind(1, "close"),
        ])  # fmt: skip
        await until_state(jobs[3], State.COMPLETED)
        assert [await job.astate() for job in jobs] == [State.COMPLETED, State.DEAD, State.COMPLETED, State.COMPLETED]

    beside_worker(app, story)
    assert [event for account, event in seen if account == 1] == ["open"] * 3 + ["pay"] * 3 + ["close"]


def test_one_that_is_cancelled_while_it_runs_lets_the_next_one_through(app: App) -> None:
    began = asyncio.Event()

    @app.job(limit=LINE)
    async def apply(account: int, endless: bool = False) -> None:
        began.set()
        if endless:
            await asyncio.Event().wait()

    async def story() -> None:
        first, second = await app.aenqueue_many([apply.bind(1, endless=True), apply.bind(1)])
        await began.wait()
        await first.acancel()
        await until_state(second, State.COMPLETED)
        assert await first.astate() is State.CANCELLED

    beside_worker(app, story)
