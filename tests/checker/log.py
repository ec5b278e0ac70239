"""The history of one process, as it is written: a line at once, by one os.write.

Whatever a process was told before kill -9 is in its file.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from tests.checker.events import SUFFIX, Event, Phase, kind_of, to_line


def monotonic_us() -> int:
    """The clock that all processes of one machine share, and that nobody can set."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


class Log:
    """The history of one process: `Log(folder, "worker-1")` appends to a file of its own in that folder.

    A process that is started again takes a new name, such as worker-1.1. Whoever kills another says so in its own log.
    """

    def __init__(self, folder: str | Path, process: str, now_us: Callable[[], int] = monotonic_us) -> None:
        self.process = process
        self._now_us = now_us
        self._calls = count(1)
        self._keep = self._open(Path(folder) / f"{process}{SUFFIX}")

    def _open(self, path: Path) -> Callable[[Event], object]:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        return lambda event: _write(file, to_line(event))

    def now_us(self) -> int:
        return self._now_us()

    def next_call(self) -> int:
        return next(self._calls)

    def write(self, op: str, phase: Phase, call: int | None = None, process: str | None = None, **fields: Any) -> None:
        """Append one line, stamped with this moment."""
        kind = kind_of(op, phase)
        name = process or self.process
        self._keep(kind(at=self._now_us(), process=name, op=op, phase=phase, call=call, **fields))

    def note(self, op: str, process: str | None = None, **fields: Any) -> None:
        """Something that is not a call of the store: log.note("run", id=…, token=…, attempt=…)."""
        self.write(op, "note", process=process, **fields)

    def run(self, id: str, token: int, attempt: int) -> None:
        """A handler begins."""
        self.note("run", id=id, token=token, attempt=attempt)

    def effect(self, id: str, token: int, key: str = "") -> None:
        """An effect of a job was committed."""
        self.note("effect", id=id, token=token, key=key)

    def killed(self, process: str) -> None:
        """This other process does not run any more. To be told after it was killed."""
        self.note("killed", process=process)

    def paused(self, process: str) -> None:
        self.note("paused", process=process)

    def resumed(self, process: str) -> None:
        self.note("resumed", process=process)


class MemoryLog(Log):
    """The same into a list, which several processes of one simulation may share."""

    def __init__(self, events: list[Event], process: str, now_us: Callable[[], int] = monotonic_us) -> None:
        self._events = events
        super().__init__("", process, now_us)

    def _open(self, path: Path) -> Callable[[Event], object]:
        return self._events.append


def _write(file: int, line: bytes) -> None:
    while line:
        line = line[os.write(file, line) :]
