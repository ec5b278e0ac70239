"""taskiq with its Redis stream broker: 100 jobs at once, 100 fetched ahead, orjson."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from contest import REDIS, Producer, main_async, mark
from taskiq.api import run_receiver_task
from taskiq.serializers import ORJSONSerializer
from taskiq_redis import RedisStreamBroker

SLOTS = 100
broker = RedisStreamBroker(REDIS, consumer_id="0", xread_count=SLOTS).with_serializer(ORJSONSerializer())


@broker.task(task_name="noop")
async def noop(sent: int, to: str, subject: str, body: str) -> None:
    mark(sent)


async def prepare() -> None:
    """The group of consumers must be there before the first job."""
    await broker.startup()
    await broker.shutdown()


@asynccontextmanager
async def producer() -> AsyncIterator[Producer]:
    await broker.startup()
    try:
        yield Producer(lambda payload: noop.kiq(**payload))
    finally:
        await broker.shutdown()


async def work() -> None:
    await run_receiver_task(broker, run_startup=True, max_async_tasks=SLOTS, max_prefetch=SLOTS, validate_params=False)


if __name__ == "__main__":
    main_async(producer=producer, work=work, prepare=prepare)
