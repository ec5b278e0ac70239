"""A worker process of the benchmark: says that it is ready, waits for the word, then drains or serves."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from typing import cast

from penstock.cli.bench.jobs import ADDRESS, HISTORY, BenchApp
from penstock.cli.loop import new_event_loop
from penstock.store.params import History


def main() -> None:
    mode = sys.argv[1]
    logging.disable(logging.WARNING)
    if mode == "processes":
        from penstock.cli.bench.apart import app
    else:
        app = BenchApp(os.environ[ADDRESS], cast(History, os.environ[HISTORY])).app
    app.store.read_clock().wait()  # The store is open before the clock starts.
    import penstock.worker.worker  # noqa: F401 — imported before the clock starts

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.get_loop()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        begun = time.perf_counter()
        runner.run(app.run_worker(burst=mode == "burst"))
        sys.stdout.write(f"{time.perf_counter() - begun}\n")


if __name__ == "__main__":
    main()
