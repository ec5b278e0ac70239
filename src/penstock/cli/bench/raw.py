"""The bare driver on the same disk: what a job store could reach if it did nothing but move rows."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import apsw

from penstock.cli.bench.jobs import PAYLOAD
from penstock.cli.loop import new_event_loop
from penstock.worker.settings import cores

THREADS = 50

_SCHEMA = """
CREATE TABLE job (
    id INTEGER PRIMARY KEY, queue TEXT NOT NULL DEFAULT 'default', priority INT NOT NULL DEFAULT 0,
    run_at REAL NOT NULL DEFAULT 0, state INT NOT NULL DEFAULT 0, payload TEXT
);
CREATE INDEX job_claim ON job (queue, priority, run_at, id) WHERE state = 0;
"""
_INSERT = "INSERT INTO job (payload) VALUES (?)"
_CLAIM = """
UPDATE job SET state = 1 WHERE id IN (
    SELECT id FROM job WHERE state = 0 AND queue = 'default' AND run_at <= ? ORDER BY priority, run_at, id LIMIT ?
) RETURNING id, payload
"""


class RawSqlite:
    """One table, one index, apsw, WAL and full sync."""

    def __init__(self, path: str) -> None:
        self._path = f"{path}-raw"
        self._remove()
        self._db = apsw.Connection(self._path)
        self._db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        self._db.execute(_SCHEMA)

    def close(self) -> None:
        self._db.close()
        self._remove()

    def _remove(self) -> None:
        for name in (self._path, f"{self._path}-wal", f"{self._path}-shm"):
            if os.path.exists(name):
                os.remove(name)

    def insert_single(self, count: int) -> tuple[float, float]:
        """The driver knows no async code: one figure for both."""
        begun = time.perf_counter()
        for _ in range(count):
            self._db.execute(_INSERT, (PAYLOAD,))
        rate = count / (time.perf_counter() - begun)
        return rate, rate

    def insert_concurrent(self, callers: int, each: int) -> float | None:
        return None

    def insert_bulk(self, count: int) -> float:
        begun = time.perf_counter()
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(_INSERT, ((PAYLOAD,) for _ in range(count)))
        self._db.execute("COMMIT")
        return count / (time.perf_counter() - begun)

    def cycle(self, count: int, batch: int) -> float:
        self.insert_bulk(count)
        done = 0
        begun = time.perf_counter()
        while rows := self._db.execute(_CLAIM, (time.time(), batch)).fetchall():
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("UPDATE job SET state = 2 WHERE id = ?", [(row[0],) for row in rows])
            self._db.execute("COMMIT")
            done += len(rows)
        return done / (time.perf_counter() - begun)

    def pickup_ms(self, count: int) -> list[float]:
        """Insert, notice by the change counter without sleeping, claim: the floor for a wake-up through the file."""
        other = apsw.Connection(self._path)
        other.execute("PRAGMA synchronous = FULL")
        found: list[float] = []
        for _ in range(count):
            seen = other.execute("PRAGMA data_version").get
            begun = time.perf_counter()
            self._db.execute(_INSERT, (PAYLOAD,))
            while other.execute("PRAGMA data_version").get == seen:
                pass
            other.execute(_CLAIM, (time.time(), 1)).fetchall()
            found.append((time.perf_counter() - begun) * 1000)
        other.close()
        return found


def thread_pool(count: int) -> float:
    """Plain functions through asyncio and a pool of 50 threads, with nothing stored."""
    with ThreadPoolExecutor(THREADS) as pool:
        return _through(pool, count, warm=0)


def process_pool(count: int) -> float:
    """The same through a pool of processes, as many as there are cores, spawned before the clock starts."""
    with ProcessPoolExecutor(cores(), get_context("spawn")) as pool:
        return _through(pool, count, warm=2 * cores())


def _through(pool: Executor, count: int, warm: int) -> float:
    async def call(times: int) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(pool, _nothing) for _ in range(times)))

    async def drain() -> float:
        await call(warm)
        begun = time.perf_counter()
        for start in range(0, count, 500):
            await call(min(500, count - start))
        return count / (time.perf_counter() - begun)

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(drain())


def _nothing() -> None:
    pass
