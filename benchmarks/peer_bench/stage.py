"""Runs the scripts of contestants: commands to their end, workers until enough was marked. Ends what it started."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.marks import Marks, together
from benchmarks.peer_bench.contestant import SCRIPTS, Contestant
from benchmarks.peer_bench.contestants.contest import MARK, MARKS

STOP_SECONDS_MAX = 3.0
LOOK_SECONDS = 0.01
LAST_LINES = 25
EMPTY: Mapping[str, str] = MappingProxyType({})


class Failed(Exception):
    """A contestant did not do what it should; the message ends with its last lines."""


class Deadline:
    """How long a contestant may still take."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self, what: str) -> float:
        left = self._end - time.monotonic()
        if left <= 0:
            raise Failed(f"{what}: not within {self._seconds:g} s")
        return left


def read_marks(folder: Path) -> Marks:
    """What the handlers of all worker processes have told so far."""
    pages = [path.read_bytes() for path in folder.glob("marks.*")]
    found = [MARK.unpack(page) for page in pages if len(page) == MARK.size]
    return together([Marks(count, first, last) for first, last, count in found])


def read_pickups_ms(folder: Path) -> list[float]:
    """In the order in which they were picked up, by process."""
    lines = [line for path in sorted(folder.glob("pickups.*")) for line in path.read_text().split()]
    return [int(line) / 1e6 for line in lines]


class Stage:
    """A folder for marks and logs, and the addresses of the servers."""

    def __init__(self, folder: Path, addresses: dict[str, str]) -> None:
        self.marks = folder / "marks"
        self._log = folder / "worker.log"
        self._environment = {**addresses, MARKS: str(self.marks), "PYTHONPATH": str(SCRIPTS), "NODE_ENV": "production"}

    def clear(self) -> None:
        shutil.rmtree(self.marks, ignore_errors=True)
        self.marks.mkdir()

    def call(self, who: Contestant, deadline: Deadline, *words: object, plain: bool = False) -> float:
        """Run a command to its end; the seconds that it printed, if any."""
        what = f"{who.name} {' '.join(map(str, words))}"
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = self._start(who, *words, **pipes, extra={"CONTEST_PLAIN": "1"} if plain else {})
        with ended(process):
            try:
                out, errors = process.communicate(timeout=deadline.left(what))
            except subprocess.TimeoutExpired:
                raise Failed(f"{what}: did not end in time") from None
        if process.returncode != 0:
            raise Failed(f"{what}: exit code {process.returncode}{last_lines(errors or out)}")
        printed = out.split()
        return float(printed[-1]) if printed and words[0] != "prepare" else 0.0

    @contextmanager
    def workers(self, who: Contestant, count: int, deadline: Deadline) -> Iterator[list[subprocess.Popen[bytes]]]:
        """Worker processes that have imported everything and were then told to begin, all at once."""
        self.clear()
        with contextlib.ExitStack() as stack, self._log.open("wb") as log:
            started = []
            for _ in range(count):
                process = self._start(who, "work", stdin=subprocess.PIPE, stdout=log, stderr=log)
                stack.enter_context(ended(process))
                started.append(process)
            while not all((self.marks / f"ready.{process.pid}").exists() for process in started):
                self._check(who, started, "not all are ready", deadline)
                time.sleep(LOOK_SECONDS)
            for process in started:
                begin(process)
            yield started

    def await_marks(
        self, who: Contestant, workers: list[subprocess.Popen[bytes]], count: int, deadline: Deadline
    ) -> Marks:
        """Until so many jobs were begun."""
        while (marks := read_marks(self.marks)).count < count:
            self._check(who, workers, f"{marks.count:,} of {count:,} jobs begun", deadline)
            time.sleep(LOOK_SECONDS)
        return marks

    def await_pickups(
        self, who: Contestant, workers: list[subprocess.Popen[bytes]], count: int, deadline: Deadline
    ) -> list[float]:
        while len(found := read_pickups_ms(self.marks)) < count:
            self._check(who, workers, f"{len(found)} of {count} probes picked up", deadline)
            time.sleep(LOOK_SECONDS)
        return found

    def _check(self, who: Contestant, workers: list[subprocess.Popen[bytes]], so_far: str, deadline: Deadline) -> None:
        try:
            deadline.left(f"{who.name}: {so_far}")
        except Failed as error:
            raise Failed(f"{error}{self._said()}") from None
        if any(worker.poll() is not None for worker in workers):
            raise Failed(f"{who.name}: a worker ended by itself, {so_far}{self._said()}")

    def _start(
        self, who: Contestant, *words: object, extra: Mapping[str, str] = EMPTY, **pipes: Any
    ) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*who.command, *map(str, words)],
            env={**os.environ, **self._environment, **who.environment, **extra},
            cwd=self.marks.parent,
            start_new_session=True,  # An interrupt from the keyboard is for the benchmark, which then ends this.
            **pipes,
        )

    def _said(self) -> str:
        return last_lines(self._log.read_bytes())


def begin(worker: subprocess.Popen[bytes]) -> None:
    """Give the word. Of one that is gone already, whoever waits for its marks will hear."""
    assert worker.stdin
    with contextlib.suppress(BrokenPipeError):
        worker.stdin.write(b"\n")
        worker.stdin.flush()


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """At the end of the block the process and all of its children are gone."""
    try:
        yield
    finally:
        if process.poll() is None:
            send(process, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS_MAX)
        send(process, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()


def send(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """To all of the session that was started with it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def last_lines(text: bytes) -> str:
    """To be put at the end of a message: on lines of their own, or nothing."""
    lines = [line for line in text.decode(errors="replace").splitlines() if line.strip()]
    return "".join(f"\n{line}" for line in lines[-LAST_LINES:])
