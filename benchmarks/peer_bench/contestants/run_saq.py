"""saq on PostgreSQL or Redis, as the environment says."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from contest import POSTGRES, REDIS, Producer, main_async, mark
from saq import Queue, Worker

ADDRESS, SLOTS = {"postgres": (POSTGRES, 100), "redis": (REDIS, 50)}[os.environ["CONTEST_SAQ"]]


async def noop(context: Any, *, sent: int, to: str, subject: str, body: str) -> None:
    mark(sent)


@asynccontextmanager
async def queue() -> AsyncIterator[Queue]:
    opened = Queue.from_url(ADDRESS)
    await opened.connect()
    try:
        yield opened
    finally:
        await opened.disconnect()


async def prepare() -> None:
    async with queue():
        pass  # Connecting makes the tables.


@asynccontextmanager
async def producer() -> AsyncIterator[Producer]:
    async with queue() as to:
        yield Producer(lambda payload: to.enqueue("noop", **payload))


async def work() -> None:
    async with queue() as source:
        await Worker(source, functions=[("noop", noop)], concurrency=SLOTS).start()


if __name__ == "__main__":
    main_async(producer=producer, work=work, prepare=prepare)
