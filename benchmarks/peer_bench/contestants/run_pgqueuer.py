"""pgqueuer: asyncpg, jobs taken and logged in batches of 500."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
from contest import POSTGRES, Payload, Producer, main_async, mark
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

BATCH = 500


@asynccontextmanager
async def queries() -> AsyncIterator[Queries]:
    connection = await asyncpg.connect(POSTGRES)
    try:
        yield Queries(AsyncpgDriver(connection))
    finally:
        await connection.close()


async def prepare() -> None:
    async with queries() as found:
        await found.install()


@asynccontextmanager
async def producer() -> AsyncIterator[Producer]:
    def encoded(payload: Payload) -> bytes:
        return json.dumps(payload).encode()

    async with queries() as to:

        async def one(payload: Payload) -> None:
            await to.enqueue("noop", encoded(payload))

        async def many(payloads: list[Payload]) -> None:
            await to.enqueue(["noop"] * len(payloads), [*map(encoded, payloads)], [0] * len(payloads))

        yield Producer(one, many)


async def work() -> None:
    queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(POSTGRES)))

    @queuer.entrypoint("noop")
    async def noop(job: Job) -> None:
        mark(json.loads(job.payload or b"")["sent"])

    await queuer.run(batch_size=BATCH, dequeue_timeout=timedelta(seconds=5))


if __name__ == "__main__":
    main_async(producer=producer, work=work, prepare=prepare)
