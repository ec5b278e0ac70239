"""The processes that cells start beside the workers of `penstock bench`: python -m postgres_cells.child MODE [NUMBER].

Each says that it is ready and waits for the word, as those do.
"""

from __future__ import annotations

import json
import logging
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock import App
from penstock.bench.jobs import ADDRESS, ARGUMENTS, BenchApp
from penstock.bench.raw_postgres import RawPostgres
from penstock.bench.workers import Child
from penstock.program.loop import event_loop
from penstock.store.postgres.connection.address import parse
from postgres_cells.jobs import one_in_ten_fails
from postgres_cells.statements import Statements

LOAD_TICK_SECONDS = 0.05
STOP_SECONDS_MAX = 20


# From outside


@contextmanager
def started(address: str, mode: str, number: int = 0, count: int = 1) -> Iterator[list[Child]]:
    """Processes that are ready to begin; ended and waited for, whatever happens."""
    command = [sys.executable, "-m", "postgres_cells.child", mode, str(number)]
    here = str(Path(__file__).resolve().parents[1])
    environment = os.environ | {ADDRESS: address, "PYTHONPATH": os.pathsep.join([here, os.getenv("PYTHONPATH", "")])}
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(count)
    ]
    try:
        for child in processes:
            assert child.stdout is not None
            if child.stdout.readline().strip() != "ready":
                raise SystemExit(f"a process of the benchmark did not start ({mode})")
        yield processes
    finally:
        for child in processes:
            child.send_signal(signal.SIGTERM)
        for child in processes:
            _end(child)


def _end(child: Child) -> None:
    try:
        child.communicate(timeout=STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()


def ask(child: Child) -> dict[str, float]:
    """What a process that serves has used so far."""
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("how are you\n")
    child.stdin.flush()
    answer: dict[str, float] = json.loads(child.stdout.readline())
    return answer


# Inside


def cycle(address: str, batch: int) -> None:
    """The bare driver's claims and completions, in a table that another process made."""
    parsed = parse(address)
    raw = RawPostgres(parsed, parsed.schema, owner=False)
    _wait_for_the_word()
    raw.drain(batch)
    _say("done")
    raw.close()


def serve(address: str, _: int) -> None:
    """A worker that tells on every line what it has used."""
    statements = Statements()
    app = BenchApp(address, "default").app
    one_in_ten_fails(app)
    _work(app, burst=False, begun=lambda: threading.Thread(target=_answer, args=[statements], daemon=True).start())


def load(address: str, per_second: int) -> None:
    """Enqueues so many jobs a second, in small bulks, until it is ended."""
    bench = BenchApp(address, "default")
    bench.app.store.read_clock().wait()
    _wait_for_the_word()
    begun, sent = time.perf_counter(), 0
    while True:
        owed = int((time.perf_counter() - begun) * per_second) - sent
        if owed:
            bench.app.enqueue_many(bench.noop.bind(*ARGUMENTS) for _ in range(owed))
        sent += owed
        time.sleep(LOAD_TICK_SECONDS)


def _work(app: App, burst: bool, begun: Callable[[], Any] = lambda: None) -> None:
    app.store.read_clock().wait()
    import penstock.worker.worker  # noqa: F401 — imported before the clock starts

    with event_loop() as runner:
        runner.get_loop()
        _wait_for_the_word()
        begun()
        runner.run(app.run_worker(burst=burst))


def _answer(statements: Statements) -> None:
    for _ in sys.stdin:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        rss_mib = pages * resource.getpagesize() / 2**20
        _say(json.dumps({"statements": statements.count, "cpu_s": time.process_time(), "rss_mib": rss_mib}))


def _wait_for_the_word() -> None:
    _say("ready")
    sys.stdin.readline()


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


MODES: dict[str, Callable[[str, int], None]] = {"cycle": cycle, "serve": serve, "load": load}

if __name__ == "__main__":
    logging.disable(logging.ERROR)
    try:
        MODES[sys.argv[1]](os.environ[ADDRESS], int(sys.argv[2]))
    except KeyboardInterrupt:
        pass  # Ctrl-C reaches all processes; the first one cleans up.
