"""Starts and ends the worker processes of a benchmark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from penstock.bench.jobs import ADDRESS, HISTORY
from penstock.domain.errors import PenstockError
from penstock.program.loop import deaf_to_interrupts
from penstock.store.contract import History

Child = subprocess.Popen[str]


@contextmanager
def children(address: str, history: History, count: int, mode: str) -> Iterator[list[Child]]:
    """Worker processes that are ready to begin; ended and waited for, whatever happens."""
    command = [sys.executable, "-m", "penstock.bench.worker_process", mode]
    environment = os.environ | {ADDRESS: address, HISTORY: history}
    started: list[Child] = []
    try:
        with deaf_to_interrupts():
            started.extend(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
                for _ in range(count)
            )
        for child in started:
            _expect_line(child)
        yield started
    finally:
        for child in started:
            child.send_signal(signal.SIGTERM)
        for child in started:
            child.communicate()


def begin(started: list[Child]) -> None:
    for child in started:
        assert child.stdin is not None
        with suppress(BrokenPipeError):  # Whoever waits for it will see that it is gone.
            child.stdin.write("go\n")
            child.stdin.flush()


def drain_seconds(started: list[Child]) -> float:
    """How long the processes take together to drain the store."""
    begun = time.perf_counter()
    begin(started)
    for child in started:
        _expect_line(child)
    return time.perf_counter() - begun


def _expect_line(child: Child) -> None:
    """Wait for the word of a process; one that ends without it makes every figure worthless."""
    assert child.stdout is not None
    if not child.stdout.readline():
        raise PenstockError(
            f"a worker process of the benchmark ended with code {child.wait()} before it was done; if it wrote an "
            "error, that is above; is there enough memory?"
        )
