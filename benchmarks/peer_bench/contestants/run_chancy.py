"""chancy: its async executor with 500 jobs at once, and the next fetch at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chancy import Chancy, Queue, Worker, job
from contest import POSTGRES, Payload, Producer, main_async, mark

QUEUE = Queue("default", concurrency=500, eager_polling=True, executor="chancy.executors.asyncex.AsyncExecutor")


@job()
async def noop(*, sent: int, to: str, subject: str, body: str) -> None:
    mark(sent)


def app() -> Chancy:
    return Chancy(POSTGRES, max_connection_pool_size=20)


async def prepare() -> None:
    async with app() as chancy:
        await chancy.migrate()
        await chancy.declare(QUEUE)


@asynccontextmanager
async def producer() -> AsyncIterator[Producer]:
    async with app() as chancy:

        async def one(payload: Payload) -> None:
            await chancy.push(noop.job.with_kwargs(**payload))

        async def many(payloads: list[Payload]) -> None:
            async for _ in chancy.push_many([noop.job.with_kwargs(**payload) for payload in payloads]):
                pass

        yield Producer(one, many)


async def work() -> None:
    async with app() as chancy, Worker(chancy) as worker:
        await worker.wait_for_shutdown()


if __name__ == "__main__":
    import run_chancy  # Jobs carry the import path of their handler, which must not be __main__.

    main_async(producer=run_chancy.producer, work=work, prepare=prepare)
