"""Figures about running jobs: how fast a killed child is replaced, and what progress costs. Alone on the machine.

python benchmarks/running.py            both parts, on a file in the current folder
"""

from __future__ import annotations

import asyncio
import os
import signal
import statistics
import sys
import time

from running_jobs import app, folder, long, noop, where

ROUNDS = 5
KILLS = 20
RUNNING = 50
JOBS = 20_000


async def replaced_in() -> list[float]:
    """Seconds from the kill of an idle child, of one, until a job was run by the next."""
    worker = asyncio.create_task(app.run_worker(process_slots=1))
    found = []
    for _ in range(KILLS):
        pid = await (await where.aenqueue()).aresult(timeout=30)
        begun = time.perf_counter()
        os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.01)  # Long enough for the death to be seen: the job must not be given to the dead.
        assert await (await where.aenqueue()).aresult(timeout=30) != pid
        found.append(time.perf_counter() - begun)
    worker.cancel()
    await asyncio.wait({worker})
    return found


async def drained_beside(reports_per_second: int) -> float:
    """Empty jobs per second while 50 jobs run and report this often."""
    worker = asyncio.create_task(app.run_worker(concurrency=RUNNING + 50))
    long_ones = await app.aenqueue_many(long.bind(reports_per_second) for _ in range(RUNNING))
    while [await one.astate() for one in long_ones[-1:]] != ["running"]:
        await asyncio.sleep(0.05)
    begun = time.perf_counter()
    jobs = await app.aenqueue_many(noop.bind() for _ in range(JOBS))
    await jobs[-1].aresult(timeout=60)
    rate = JOBS / (time.perf_counter() - begun)
    for one in long_ones:
        await one.acancel()
    for one in long_ones:
        while await one.astate() != "cancelled":
            await asyncio.sleep(0.02)
    worker.cancel()
    await asyncio.wait({worker})
    return rate


def main() -> None:
    print(f"SQLite file {folder}/running.db, Python {sys.version.split()[0]}")
    times = sorted(asyncio.run(replaced_in()))
    print(f"a killed child is replaced and has run a job: median {statistics.median(times) * 1000:.0f} ms, "
          f"worst of {KILLS} {times[-1] * 1000:.0f} ms")  # fmt: skip
    ratios = []
    for _ in range(ROUNDS):
        silent, twice, often = (asyncio.run(drained_beside(rate)) for rate in (0, 2, 100))
        ratios.append((twice / silent, often / silent))
        print(f"drain beside {RUNNING} running jobs: silent {silent:,.0f}/s, "
              f"2 reports/s each {twice:,.0f}/s, 100 reports/s each {often:,.0f}/s")  # fmt: skip
    print("median ratio to silent: " + ", ".join(f"{statistics.median(one):.2f}" for one in zip(*ratios, strict=True)))
    app.close()
    for file in folder.glob("running.db*"):
        file.unlink()


if __name__ == "__main__":
    main()
