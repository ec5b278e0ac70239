"""dramatiq on Redis: one process of four threads; the environment sets how many jobs are fetched ahead."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import dramatiq
from contest import REDIS, Producer, main_plain, mark
from dramatiq.brokers.redis import RedisBroker
from dramatiq.cli import main, make_argument_parser

dramatiq.set_broker(RedisBroker(url=REDIS))


@dramatiq.actor
def noop(sent: int, to: str, subject: str, body: str) -> None:
    mark(sent)


@contextmanager
def producer() -> Iterator[Producer]:
    yield Producer(lambda payload: noop.send(**payload))


def work() -> None:
    words = ["run_dramatiq", "--processes", "1", "--threads", "4", "--skip-logging"]
    sys.exit(main(make_argument_parser().parse_args(words)))


if __name__ == "__main__":
    main_plain(producer=producer, work=work)
