"""The bare driver on the same disk: what a job store could reach if it did nothing but move rows."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Literal

import apsw

from penstock.bench.jobs import PAYLOAD, PROBE_GAP_SECONDS, WARM
from penstock.program.loop import deaf_to_interrupts, event_loop
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
    """One table, one index, apsw, WAL and the durability of the store beside it."""

    def __init__(self, path: str, synchronous: Literal["full", "normal"]) -> None:
        self._path = f"{path}-raw"
        self._synchronous = synchronous
        self._remove()
        self._db = self._connect()
        self._db.execute(_SCHEMA)

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(self._path)
        db.execute(f"PRAGMA journal_mode = WAL; PRAGMA synchronous = {self._synchronous}").fetchall()
        return db

    def close(self) -> None:
        self._db.close()
        self._remove()

    def _remove(self) -> None:
        for name in (self._path, f"{self._path}-wal", f"{self._path}-shm"):
            if os.path.exists(name):
                os.remove(name)

    def insert_single(self, count: int) -> tuple[float, float]:
        """The driver knows no async code: one figure for both."""
        self._insert_one_by_one(WARM)
        begun = time.perf_counter()
        self._insert_one_by_one(count)
        rate = count / (time.perf_counter() - begun)
        return rate, rate

    def _insert_one_by_one(self, count: int) -> None:
        for _ in range(count):
            self._db.execute(_INSERT, (PAYLOAD,))

    def insert_concurrent(self, callers: int, each: int) -> float | None:
        return None

    def insert_bulk(self, count: int) -> float:
        self._insert_one_by_one(1)
        begun = time.perf_counter()
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany(_INSERT, ((PAYLOAD,) for _ in range(count)))
        self._db.execute("COMMIT")
        return count / (time.perf_counter() - begun)

    def cycle(self, count: int, batch: int) -> float:
        self.insert_bulk(WARM)
        self._drain(batch)
        self.insert_bulk(count)
        begun = time.perf_counter()
        return self._drain(batch) / (time.perf_counter() - begun)

    def _drain(self, batch: int) -> int:
        done = 0
        while rows := self._db.execute(_CLAIM, (time.time(), batch)).fetchall():
            self._db.execute("BEGIN IMMEDIATE")
            self._db.executemany("UPDATE job SET state = 2 WHERE id = ?", [(row[0],) for row in rows])
            self._db.execute("COMMIT")
            done += len(rows)
        return done

    def pickup_ms(self, count: int) -> list[float]:
        """Insert, notice by the change counter without sleeping, claim: the floor for a wake-up through the file."""
        other = self._connect()
        found: list[float] = []
        for probe in range(count + WARM):
            time.sleep(PROBE_GAP_SECONDS)
            seen = other.execute("PRAGMA data_version").get
            begun = time.perf_counter()
            self._db.execute(_INSERT, (PAYLOAD,))
            while other.execute("PRAGMA data_version").get == seen:
                pass
            other.execute(_CLAIM, (time.time(), 1)).fetchall()
            if probe >= WARM:
                found.append((time.perf_counter() - begun) * 1000)
        other.close()
        return found


def thread_pool(count: int) -> float:
    """Plain functions through asyncio and a pool of 50 threads, with nothing stored."""
    with ThreadPoolExecutor(THREADS) as pool:
        return _through(pool, count)


def process_pool(count: int) -> float:
    """The same through a pool of processes, as many as there are cores, spawned and tried before the clock starts."""
    with ProcessPoolExecutor(cores(), get_context("spawn")) as pool:
        with deaf_to_interrupts():
            tried = [pool.submit(_nothing) for _ in range(2 * cores())]
        for one in tried:
            one.result()
        return _through(pool, count)


def _through(pool: Executor, count: int) -> float:
    async def call(times: int) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(pool, _nothing) for _ in range(times)))

    async def drain() -> float:
        begun = time.perf_counter()
        for start in range(0, count, 500):
            await call(min(500, count - start))
        return count / (time.perf_counter() - begun)

    with event_loop() as runner:
        return runner.run(drain())


def _nothing() -> None:
    pass
