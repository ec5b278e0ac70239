"""Starts worker processes, gives them the word, and adds up what they tell. Ends what it started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.marks import Marks, together
from penstock.bench.jobs import ADDRESS
from penstock.bench.workers import Child, begin

ROOT = Path(__file__).resolve().parents[2]
CHILD = "benchmarks.growth_curves.child"
STOP_SECONDS_MAX = 20


@contextmanager
def started(module: str, address: str, words: Sequence[object], count: int = 1) -> Iterator[list[Child]]:
    """Processes of a module that have said that they are ready; ended and waited for, whatever happens."""
    command = [sys.executable, "-m", module, *map(str, words)]
    path = os.pathsep.join(filter(None, [str(ROOT), os.getenv("PYTHONPATH")]))
    environment = os.environ | {ADDRESS: address, "PYTHONPATH": path}
    processes: list[Child] = []
    try:
        processes.extend(_start(command, environment) for _ in range(count))
        for child in processes:
            heard(child)
        yield processes
    finally:
        for child in processes:
            child.send_signal(signal.SIGTERM)
        for child in processes:
            _end(child)


def _start(command: Sequence[str], environment: Mapping[str, str]) -> Child:
    """An interrupt from the keyboard is not for these: it is for the benchmark, which ends them."""
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment, start_new_session=True)


def heard(child: Child) -> str:
    """The next line of a process."""
    assert child.stdout is not None
    if not (line := child.stdout.readline()):
        raise SystemExit(f"a worker process of the benchmark ended with code {child.wait()}; its error is above")
    return line.strip()


def told(child: Child) -> Any:
    return json.loads(heard(child))


def _end(child: Child) -> None:
    try:
        child.communicate(timeout=STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()


def drained_per_s(address: str, expected: int, processes: int = 1, types: int = 0, leave_rest: bool = False) -> float:
    """Worker processes drain what waits: all of it, or as many jobs as are expected."""
    words = ("drain", types, expected if leave_rest else 0)
    with started(CHILD, address, words, processes) as children:
        begin(children)
        marks = together([Marks(**told(child)) for child in children])
    if marks.count != expected:
        raise SystemExit(f"{marks.count:,} of {expected:,} jobs were run: the figures of this curve would mean nothing")
    return marks.per_second
