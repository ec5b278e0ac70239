"""arq: 100 jobs at once, polling every 10 ms, no results."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from arq import create_pool
from arq.connections import RedisSettings
from arq.worker import Worker, func
from contest import REDIS, Producer, main_async, mark

SETTINGS = RedisSettings.from_dsn(REDIS)


async def noop(context: Any, sent: int, to: str, subject: str, body: str) -> None:
    mark(sent)


@asynccontextmanager
async def producer() -> AsyncIterator[Producer]:
    pool = await create_pool(SETTINGS)
    try:
        yield Producer(lambda payload: pool.enqueue_job("noop", **payload))
    finally:
        await pool.aclose()


async def work() -> None:
    worker = Worker(
        functions=[func(noop, keep_result=0)],
        redis_settings=SETTINGS,
        max_jobs=100,
        poll_delay=0.01,
        keep_result=0,
        queue_read_limit=500,
        handle_signals=False,
    )
    await worker.main()


if __name__ == "__main__":
    main_async(producer=producer, work=work)
