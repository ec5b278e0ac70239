"""A worker that stops cancels what its handlers left running, and nothing else on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from penstock import App


async def forever() -> None:
    await asyncio.Event().wait()


def test_tasks_of_the_program_around_the_worker_live_on(app: App) -> None:
    async def program() -> None:
        inside = asyncio.Event()
        started: list[asyncio.Task[None]] = []

        @app.job
        async def work() -> None:
            started.append(asyncio.ensure_future(forever()))
            inside.set()
            await asyncio.sleep(0)

        async def beside() -> asyncio.Task[None]:
            await inside.wait()
            return asyncio.ensure_future(forever())

        waiting = asyncio.ensure_future(beside())
        await work.aenqueue()
        await app.run_worker(burst=True)
        assert started[0].cancelled(), "the handler's"
        own = await waiting
        assert not own.done(), "the program's, started while the worker ran"
        own.cancel()

    asyncio.run(program())


def test_tasks_of_the_lifespan_live_until_its_end(tmp_path: Path) -> None:
    ended: list[bool] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[None]:
        task = asyncio.ensure_future(forever())
        yield
        ended.append(task.done())
        task.cancel()

    app = App(f"sqlite:///{tmp_path}/jobs.db", lifespan=lifespan)

    @app.job
    async def work() -> None: ...

    work.enqueue()
    try:
        asyncio.run(app.run_worker(burst=True))
    finally:
        app.close()
    assert ended == [False]
