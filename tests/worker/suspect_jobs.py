"""Jobs that run isolated when they have crashed before, none of them in processes otherwise. Child processes import
this module, so what a test declares itself would be unknown to them.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock import App, Fixed
from penstock.engines import open_store
from penstock.system.clock import SystemClock
from tests.worker.process_jobs import note, opened

app = App("sqlite:///never-opened.db")
mixed = App("sqlite:///never-opened.db")
"""One that has process handlers besides."""


@contextmanager
def store_of(one: App, folder: Path) -> Iterator[App]:
    """The app on a store in this folder."""
    clock = SystemClock()
    store = open_store(f"sqlite:///{folder}/jobs.db", clock=clock, random=random.random)
    try:
        with one._in_place(store, clock):
            yield one
    finally:
        store.close()


@app.job(attempts=9, backoff=Fixed(0))
async def where() -> int:
    return os.getpid()


@app.job(attempts=9, backoff=Fixed(0))
def where_plain() -> int:
    return os.getpid()


@app.job(attempts=9, backoff=Fixed(0))
async def wait_for(gate: str) -> int:
    note("began", os.getpid())
    while not opened(gate):
        await asyncio.sleep(0.005)
    return os.getpid()


@app.job(attempts=9, backoff=Fixed(0), timeout="300ms")
def stubborn() -> None:
    note("stubborn", os.getpid())
    while True:
        pass


@app.batch_job(size=3, wait="10s", attempts=9, backoff=Fixed(0))
async def many(items: list[int]) -> list[list[int]]:
    return [[os.getpid(), len(items)]] * len(items)


@mixed.job(attempts=9, backoff=Fixed(0))
async def where_mixed() -> int:
    return os.getpid()


@mixed.job(runner="process", attempts=1)
def compute(seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()
