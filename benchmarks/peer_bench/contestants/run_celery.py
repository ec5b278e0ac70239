"""celery on Redis: prefork with two processes, late acknowledgement, no results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from celery import Celery
from contest import REDIS, Producer, main_plain, mark

app = Celery("run_celery", broker=REDIS)
app.conf.update(
    task_ignore_result=True,
    task_acks_late=True,
    worker_prefetch_multiplier=100,
    worker_send_task_events=False,
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
)


@app.task(name="noop")
def noop(sent: int, to: str, subject: str, body: str) -> None:
    mark(sent)


@contextmanager
def producer() -> Iterator[Producer]:
    yield Producer(lambda payload: noop.delay(**payload))


def work() -> None:
    quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR"]
    app.worker_main(["worker", "--pool", "prefork", "--concurrency", "2", "-O", "fair", *quiet])
    sys.exit()


if __name__ == "__main__":
    main_plain(producer=producer, work=work)
