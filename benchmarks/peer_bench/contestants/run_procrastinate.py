"""procrastinate: 20 jobs at once over a pool of 20 connections, deleted when they succeeded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import procrastinate
from contest import POSTGRES, Payload, Producer, main_async, mark

SLOTS = 20
app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=POSTGRES, max_size=SLOTS))


@app.task(name="noop")
async def noop(sent: int, to: str, subject: str, body: str) -> None:
    mark(sent)


async def prepare() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


@asynccontextmanager
async def producer() -> AsyncIterator[Producer]:
    async def many(payloads: list[Payload]) -> None:
        await noop.batch_defer_async(*payloads)

    async with app.open_async():
        yield Producer(lambda payload: noop.defer_async(**payload), many)


async def work() -> None:
    async with app.open_async():
        await app.run_worker_async(concurrency=SLOTS, delete_jobs="successful", install_signal_handlers=False)


if __name__ == "__main__":
    main_async(producer=producer, work=work, prepare=prepare)
