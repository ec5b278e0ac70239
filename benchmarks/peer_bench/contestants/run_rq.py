"""rq: its SimpleWorker, which runs jobs in its own process, and the default time to live of results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from contest import REDIS, Payload, Producer, main_plain, mark
from redis import Redis
from rq import Queue
from rq.worker import SimpleWorker

HANDLER = "run_rq.noop"
connection = Redis.from_url(REDIS)
queue = Queue("contest", connection=connection)


def noop(sent: int, to: str, subject: str, body: str) -> None:
    mark(sent)


@contextmanager
def producer() -> Iterator[Producer]:
    def many(payloads: list[Payload]) -> None:
        queue.enqueue_many([Queue.prepare_data(HANDLER, kwargs=payload) for payload in payloads])

    yield Producer(lambda payload: queue.enqueue(HANDLER, kwargs=payload), many)


if __name__ == "__main__":
    main_plain(producer=producer, work=lambda: SimpleWorker([queue], connection=connection).work(logging_level="ERROR"))
