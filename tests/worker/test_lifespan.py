"""Resources of a worker: entered once, handed to every job, left at the end; a failed start claims nothing."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock import App, Context, State, current
from tests.worker.running import burst

steps: list[str] = []


@asynccontextmanager
async def pool() -> AsyncIterator[dict[str, str]]:
    steps.append("enter")
    yield {"connection": "open"}
    steps.append("exit")


@asynccontextmanager
async def broken() -> AsyncIterator[None]:
    if not steps:
        raise ConnectionError("the database does not answer")
    yield


def make_app(folder: Path, lifespan: Any) -> App:
    steps.clear()
    return App(f"sqlite:///{folder}/jobs.db", lifespan=lifespan)


def test_resources_are_entered_once_handed_to_every_job_and_left(tmp_path: Path) -> None:
    app = make_app(tmp_path, pool)

    @app.job
    async def in_loop(ctx: Context) -> str:
        steps.append("job")
        return str(ctx.resources["connection"])

    @app.job
    def in_thread() -> str:
        steps.append("job")
        return str(current().resources["connection"])

    jobs = [in_loop.enqueue(), in_thread.enqueue(), in_loop.enqueue()]
    burst(app)
    assert [job.result(timeout=0) for job in jobs] == ["open"] * 3
    assert steps == ["enter", "job", "job", "job", "exit"]
    app.close()


def test_resources_are_left_only_after_the_last_job(tmp_path: Path) -> None:
    app = make_app(tmp_path, pool)

    @app.job
    async def stops_its_worker() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.05)
        steps.append("job")

    job = stops_its_worker.enqueue()
    asyncio.run(app.run_worker())
    assert job.state() is State.COMPLETED
    assert steps == ["enter", "job", "exit"]
    app.close()


def test_a_failed_start_is_raised_and_no_job_is_claimed(tmp_path: Path) -> None:
    app = make_app(tmp_path, broken)

    @app.job
    async def work() -> None:
        steps.append("job")

    job = work.enqueue()
    with pytest.raises(ConnectionError, match="the database does not answer"):
        burst(app)
    assert (job.read().state, job.read().attempt) == (State.PENDING, 0)
    assert steps == []
    assert [worker.status for worker in app.store.list_workers().wait()] == ["inactive"]
    app.close()


def test_a_slow_start_is_not_called_a_blocked_loop(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    @asynccontextmanager
    async def slow() -> AsyncIterator[None]:
        await asyncio.sleep(1.6)
        yield

    app = make_app(tmp_path, slow)

    @app.job
    async def work() -> None: ...

    burst(app)
    assert "blocked" not in caplog.text
    app.close()
