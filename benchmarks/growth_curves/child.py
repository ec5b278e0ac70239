"""The worker processes of the curves: python -m benchmarks.growth_curves.child drain TYPES MOST | churn JOBS.

Each says that it is ready and waits for the word. It tells what it did in lines of JSON.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any

from benchmarks.growth_curves.jobs import AnyJob, declare
from penstock import App
from penstock.bench.jobs import ADDRESS, ARGUMENTS
from penstock.program.loop import event_loop


class Counted:
    """Handlers that do nothing but count."""

    def __init__(self) -> None:
        self.count = self.first_ns = self.last_ns = 0

    async def handler(self, to: str, subject: str, body: str) -> None:
        self.last_ns = time.monotonic_ns()
        self.first_ns = self.first_ns or self.last_ns
        self.count += 1


class Gated:
    """Handlers that wait until all jobs of a round are stored, then count."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._open = asyncio.Event()
        self._over = asyncio.Event()
        self._left = 0

    async def handler(self, to: str, subject: str, body: str) -> None:
        if not self._open.is_set():
            await self._open.wait()
        self._left -= 1
        if not self._left:
            self._over.set()

    async def round(self, job: AnyJob, jobs: int) -> float:
        """Seconds from when the handlers may go until the last job has begun."""
        self._open.clear()
        self._over.clear()
        self._left = jobs
        await self._app.aenqueue_many([job.bind(*ARGUMENTS)] * jobs)
        begun = time.perf_counter()
        self._open.set()
        await self._over.wait()
        return time.perf_counter() - begun


async def drain(app: App, types: int, most: int) -> None:
    """Until nothing waits, or until so many jobs were begun."""
    counted = Counted()
    declare(app, types, counted.handler)
    if not await _word():
        return
    if most:
        await app.run_worker(max_jobs=most)
    else:
        await app.run_worker(burst=True)
    _say(json.dumps({"count": counted.count, "first_ns": counted.first_ns, "last_ns": counted.last_ns}))


async def churn(app: App, jobs: int) -> None:
    """One round for every word, by one worker that stays."""
    gated = Gated(app)
    [job] = declare(app, 0, gated.handler)
    worker = asyncio.create_task(app.run_worker())
    while await _word():
        _say(json.dumps(await gated.round(job, jobs)))
    worker.cancel()
    await asyncio.wait({worker})


async def _word() -> bool:
    """Whether there is one; not when the benchmark was given up."""
    _say("ready")
    return bool(await asyncio.to_thread(sys.stdin.readline))


def _say(line: str) -> None:
    print(line, flush=True)


MODES: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {"drain": drain, "churn": churn}


def main(mode: str, *numbers: str) -> None:
    logging.disable(logging.ERROR)
    app = App(os.environ[ADDRESS])
    app.store.read_clock().wait()  # The store is open before the word.
    import penstock.worker.worker  # noqa: F401 — imported before the word

    with event_loop() as runner:
        runner.run(MODES[mode](app, *map(int, numbers)))
    app.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
