"""oban for Python: a queue with a limit of 1,000."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from contest import POSTGRES, Payload, Producer, main_async, mark
from oban import Oban, worker
from oban.schema import install


@worker(queue="default")
class Noop:
    async def process(self, job: Any) -> None:
        mark(job.args["sent"])


async def prepare() -> None:
    pool = await Oban.create_pool(POSTGRES)
    await install(pool)
    await pool.close()


@asynccontextmanager
async def producer() -> AsyncIterator[Producer]:
    """A client that was started: only such a one notifies workers of new jobs."""

    async def many(payloads: list[Payload]) -> None:
        await to.enqueue_many([Noop.new(payload) for payload in payloads])

    async with Oban(pool=await Oban.create_pool(POSTGRES)) as to:
        yield Producer(lambda payload: to.enqueue(Noop.new(payload)), many)


async def work() -> None:
    async with Oban(pool=await Oban.create_pool(POSTGRES), queues={"default": 1000}):
        await asyncio.Event().wait()


if __name__ == "__main__":
    main_async(producer=producer, work=work, prepare=prepare)
