"""A worker process of the benchmark: says that it is ready, waits for the word, then drains or serves.

`burst` drains once. `drain` does too, and tries itself on a few jobs of its own before it is ready: then connections
are open and statements prepared. `serve` and `processes` work until they are ended.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from typing import cast

from penstock.app import App
from penstock.bench.jobs import ADDRESS, ARGUMENTS, HISTORY, WARM, BenchApp
from penstock.program.loop import event_loop
from penstock.store.contract import History


def main() -> None:
    mode = sys.argv[1]
    logging.disable(logging.WARNING)
    bench = BenchApp(os.environ[ADDRESS], cast(History, os.environ[HISTORY]))
    app = _process_app() if mode == "processes" else bench.app
    app.store.read_clock().wait()  # The store is open before the clock starts.
    import penstock.worker.worker  # noqa: F401 — imported before the clock starts

    with event_loop() as runner:
        if mode == "drain":
            _warm_up(bench, runner)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        if not sys.stdin.readline():
            return  # The benchmark was given up.
        begun = time.perf_counter()
        runner.run(app.run_worker(burst=mode in ("burst", "drain")))
        sys.stdout.write(f"{time.perf_counter() - begun}\n")


def _process_app() -> App:
    from penstock.bench.process_job import app

    return app


def _warm_up(bench: BenchApp, runner: asyncio.Runner) -> None:
    """In the event loop of what is measured, since connections belong to a loop."""
    bench.app.enqueue_many(job.bind(*ARGUMENTS) for job in (bench.noop, bench.plain) for _ in range(WARM))
    runner.run(bench.app.run_worker(burst=True))


if __name__ == "__main__":
    main()
