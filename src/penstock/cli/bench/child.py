"""A worker process of the benchmark: says that it is ready, waits for the word, then drains or serves."""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from typing import cast

from penstock.cli.bench.jobs import BenchApp
from penstock.cli.loop import new_event_loop
from penstock.store.params import History


def main() -> None:
    address, history, burst = sys.argv[1], cast(History, sys.argv[2]), sys.argv[3] == "burst"
    logging.disable(logging.WARNING)
    bench = BenchApp(address, history)
    bench.app.store.version()
    import penstock.worker.worker  # noqa: F401 — imported before the clock starts

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.get_loop()
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        begun = time.perf_counter()
        runner.run(bench.app.run_worker(burst=burst))
        sys.stdout.write(f"{time.perf_counter() - begun}\n")


if __name__ == "__main__":
    main()
