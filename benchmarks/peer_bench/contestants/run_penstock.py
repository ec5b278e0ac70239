"""penstock, on PostgreSQL or SQLite, from this checkout."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from contest import DATA, POSTGRES, Payload, Producer, main_async, main_plain, mark

from penstock import App

STORE = f"sqlite:///{DATA}/penstock.db" if os.environ["CONTEST_ENGINE"] == "sqlite" else POSTGRES
HISTORY: Any = os.environ["CONTEST_HISTORY"]
app = App(STORE, history=HISTORY)


@app.job(name="noop")
async def noop(sent: int, to: str, subject: str, body: str) -> None:
    mark(sent)


@asynccontextmanager
async def producer() -> AsyncIterator[Producer]:
    async def one(payload: Payload) -> None:
        await noop.aenqueue(**payload)

    async def many(payloads: list[Payload]) -> None:
        await app.aenqueue_many(noop.bind(**payload) for payload in payloads)

    yield Producer(one, many)


@contextmanager
def plain_producer() -> Iterator[Producer]:
    yield Producer(lambda payload: noop.enqueue(**payload))


async def prepare() -> None:
    app.store.migrate()


async def work() -> None:
    await app.run_worker()


if __name__ == "__main__":
    if os.environ.get("CONTEST_PLAIN"):
        main_plain(producer=plain_producer, work=lambda: None)
    else:
        import penstock.worker.worker  # noqa: F401 — imported before the worker says that it is ready

        main_async(producer=producer, work=work, prepare=prepare)
