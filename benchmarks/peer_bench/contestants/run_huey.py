"""huey on SQLite: WAL with full sync, no results, one thread that polls quickly."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from contest import DATA, Producer, main_plain, mark
from huey import SqliteHuey

huey = SqliteHuey("contest", filename=str(DATA / "huey.db"), results=False)


@huey.task()
def noop(sent: int, to: str, subject: str, body: str) -> None:
    mark(sent)


@contextmanager
def producer() -> Iterator[Producer]:
    yield Producer(lambda payload: noop(**payload))


def work() -> None:
    polling = {"initial_delay": 0.01, "max_delay": 0.05, "backoff": 1.15, "periodic": False}
    huey.create_consumer(workers=1, worker_type="thread", **polling).run()


if __name__ == "__main__":
    main_plain(producer=producer, work=work)
