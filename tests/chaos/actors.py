"""The processes of a run: started, harmed and ended by their process id, with a log and a history each."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from tests.chaos.program.crashes import CRASHED
from tests.chaos.program.role import Role
from tests.nursery.nursery import path, start

PATIENCE_SECONDS = 60.0
TAIL_LINES = 25
STARTED = "started:"

Kind = Literal["worker", "client"]


class Broken(AssertionError):
    """A promise was not kept, or the run could not be brought to its end."""


def until(condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for a condition that has no event of its own."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Broken(f"did not happen within {seconds:g} s: {what}")
        time.sleep(0.02)


class Actor:
    """One process, from its start to its end."""

    def __init__(self, kind: Kind, role: Role, folder: Path) -> None:
        self.kind = kind
        self.role = role
        self.name = role.name
        self.log = folder / f"{role.name}.log"
        self.paused = False
        self._started = False
        self.ending = False
        """Whether its end is our doing."""
        reader, writer = os.pipe()
        self._lifeline: int | None = writer
        try:
            with self.log.open("wb") as output:
                environment = {**os.environ, **role.environment(), "PYTHONPATH": path()}
                self._process = start(
                    f"tests.chaos.program.{kind}", environment=environment, stdin=reader, stdout=output.fileno()
                )
        finally:
            os.close(reader)

    @property
    def number(self) -> int:
        return int(self.name.partition("-")[2].partition(".")[0])

    # What it says

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="backslashreplace")

    @property
    def tail(self) -> str:
        return "\n".join(self.output.splitlines()[-TAIL_LINES:])

    def said(self, text: str) -> bool:
        return text in self.output

    @property
    def started(self) -> bool:
        self._started = self._started or self.said(STARTED)
        return self._started

    def wait_started(self) -> None:
        until(lambda: self.started or self.code is not None, f"{self.name} starts")

    # How it is

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code once it has ended."""
        return self._process.poll()

    @property
    def lives(self) -> bool:
        return self.code is None

    @property
    def crashed(self) -> bool:
        """Whether it ended itself at a crash point."""
        return self.code == CRASHED

    @property
    def died_by_itself(self) -> bool:
        """Whether it ended without our doing: not asked, not killed, not at a crash point."""
        return self.code not in (None, 0, CRASHED) and not self.ending

    # What is done to it

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self.ending = True
        self._process.kill()
        self._process.wait()

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGUSR1)
            time.sleep(0.5)  # For the stacks of its threads, which it writes to its log now.
            raise Broken(f"{self.name} did not end within {seconds:g} s") from None

    def close(self) -> None:
        """Whatever state it is in: end it, reap it, let go of its input."""
        self.kill()
        if self._lifeline is not None:
            os.close(self._lifeline)
            self._lifeline = None
