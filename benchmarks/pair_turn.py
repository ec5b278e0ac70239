"""One turn of benchmarks/pairs.py: python pair_turn.py URL SERVER_PID JOBS PARTS. Prints one JSON document.

It runs under two states of the code, so it knows only what both have.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from penstock import App

try:
    from uvloop import new_event_loop  # As `penstock worker` does.
except ImportError:
    from asyncio import new_event_loop

URL, SERVER, JOBS, PARTS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4].split(",")
SINGLE, BULK, PICKUPS, PAUSE_SECONDS = 1_500, 40_000, 100, 0.02

ended: dict[int, float] = {}
left = [0]
heard = asyncio.Event()


def new_app() -> App:
    app = App(URL)

    @app.job
    async def noop(number: int, text: str = "") -> None:
        left[0] -= 1
        if not left[0]:
            heard.set()

    @app.job
    async def note(number: int) -> None:
        ended[number] = time.perf_counter()
        heard.set()

    return app


def server_seconds() -> float:
    """Of all processes of the server: those that live, and those that have ended."""
    if not SERVER:
        return 0.0
    ended = Path(f"/proc/{SERVER}/stat").read_text().rpartition(")")[2].split()[13:15]
    total = sum(map(int, ended)) / os.sysconf("SC_CLK_TCK")
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = stat.read_text().rpartition(")")[2].split()[1]
            if int(parent) == SERVER:
                total += int((stat.parent / "schedstat").read_text().split()[0]) / 1e9
    return total


class Cost:
    cpu = server = seconds = 0.0


@contextlib.contextmanager
def measured() -> Iterator[Cost]:
    cost = Cost()
    server, cpu, begun = server_seconds(), time.process_time(), time.perf_counter()
    yield cost
    cost.seconds = time.perf_counter() - begun
    cost.cpu = time.process_time() - cpu
    cost.server = server_seconds() - server


def run(main: Callable[[], object]) -> None:
    global heard
    heard = asyncio.Event()  # One belongs to one loop.
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main())  # type: ignore[arg-type]


def call(app: App, name: str, number: int) -> object:
    return app.client.call_by_name(name, {"number": number}, {}, {})


def drained(app: App, jobs: int, before: int = 0) -> Cost:
    """By a worker that stays, and is stopped when the last one has run, also of those that waited before."""

    async def main() -> None:
        worker = asyncio.ensure_future(app.run_worker())
        await heard.wait()
        worker.cancel()
        await asyncio.wait({worker})

    for start in range(0, jobs, 10_000):
        app.enqueue_many(call(app, "noop", number) for number in range(start, min(jobs, start + 10_000)))
    left[0] = jobs + before
    with measured() as cost:
        run(main)
    return cost


def enqueued(app: App) -> Cost:
    with measured() as cost:
        for number in range(SINGLE):
            app.enqueue("noop", {"number": number})
    return cost


def in_bulk(app: App, jobs: int) -> Cost:
    calls = [call(app, "noop", number) for number in range(jobs)]
    with measured() as cost:
        app.enqueue_many(calls)
    return cost


def picked_up(app: App) -> tuple[Cost, float]:
    times: list[float] = []
    costs: list[Cost] = []

    async def one(number: int) -> None:
        heard.clear()
        begun = time.perf_counter()
        await app.aenqueue("note", {"number": number})
        while number not in ended:
            await heard.wait()
            heard.clear()
        times.append(ended[number] - begun)
        await asyncio.sleep(PAUSE_SECONDS)  # So that each comes to an idle worker.

    async def main() -> None:
        worker = asyncio.ensure_future(app.run_worker())
        for number in range(20):
            await one(-1 - number)
        times.clear()
        with measured() as cost:
            for number in range(PICKUPS):
                await one(number)
        costs.append(cost)
        worker.cancel()
        await asyncio.wait({worker})

    run(main)
    return costs[0], sorted(times)[len(times) // 2] * 1000


def main() -> None:
    logging.disable(logging.ERROR)
    app = new_app()
    app.store.migrate()
    drained(app, 2_000)
    figures: dict[str, float] = {}

    def note(name: str, cost: Cost, jobs: int) -> None:
        figures[f"{name} cpu"] = (cost.cpu + cost.server) / jobs * 1e6
        if SERVER:
            figures[f"{name} cpu, client"] = cost.cpu / jobs * 1e6
        figures[f"{name} µs elapsed"] = cost.seconds / jobs * 1e6

    waiting = 0
    if "drain" in PARTS:
        note("drain", drained(app, JOBS), JOBS)
    if "enqueue" in PARTS:
        note("enqueue", enqueued(app), SINGLE)
        waiting += SINGLE
    if "bulk" in PARTS:
        note("bulk", in_bulk(app, BULK), BULK)
        waiting += BULK
    if "pickup" in PARTS:
        drained(app, 1, before=waiting)
        pickup, figures["pickup p50 ms"] = picked_up(app)
        note("pickup", pickup, PICKUPS)
    app.close()
    print(json.dumps(figures))


main()
