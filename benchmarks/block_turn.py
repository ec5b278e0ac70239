"""One state of the code for benchmarks/blocks.py: python block_turn.py URL SERVER_PID.

It runs under two states of the code, so it knows only what both have. Each line that it reads is a number of enqueues;
each that it prints is what one of them cost, in microseconds: processor time here, of the server, and elapsed.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import time
from pathlib import Path

from penstock import App

URL, SERVER = sys.argv[1], int(sys.argv[2])
WARM_UP = 50


def backends() -> set[int]:
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            if SERVER and int(stat.read_text().rpartition(")")[2].split()[1]) == SERVER:
                found.add(int(stat.parent.name))
    return found


def main() -> None:
    logging.disable(logging.ERROR)
    app = App(URL)

    @app.job
    async def noop(number: int) -> None: ...

    app.store.migrate()
    others = backends()
    for number in range(WARM_UP):
        app.enqueue("noop", {"number": number})
    own = backends() - others  # What this process has opened.

    def now() -> tuple[float, float, float]:
        server = sum(int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in own) / 1e9
        return time.process_time(), server, time.perf_counter()

    print("ready", flush=True)
    for line in sys.stdin:
        count = int(line)
        before = now()
        for number in range(count):
            app.enqueue("noop", {"number": number})
        print(json.dumps([(new - old) / count * 1e6 for old, new in zip(before, now(), strict=True)]), flush=True)
    app.close()


main()
