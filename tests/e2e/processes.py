"""Real processes for tests: started from a script, listened to line by line, always ended and reaped."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

from penstock import App, State
from tests.postgres.processes import suspend_all

PATIENCE_SECONDS = 30.0

PRELUDE = """
import asyncio, faulthandler, json, logging, os, signal, sys, threading, time
import penstock
from penstock import App, Context, Exponential, Fixed

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s", stream=sys.stdout)
faulthandler.register(signal.SIGUSR1, sys.stdout)  # A test that waits in vain asks where the process is.
app = App(sys.argv[1])
settings = json.loads(sys.argv[2])


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

"""

RUN_WORKER = """

try:
    asyncio.run(app.run_worker(**settings))
    say("worker returned")
finally:
    app.close()
"""


def until(condition: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for a condition that has no event of its own, such as one on the store."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"did not happen within {seconds} s: {what}")
        time.sleep(0.005)


def counts(app: App) -> dict[State, int]:
    """How many jobs are in each state that has any."""
    found: dict[State, int] = {}
    for count in app.store.count_jobs().wait():
        found[count.state] = found.get(count.state, 0) + count.jobs
    return found


class Process:
    """A script in a process of its own. What it prints is collected while it runs."""

    def __init__(self, script: Path, arguments: list[str]) -> None:
        self._script = script
        self._child = subprocess.Popen(
            [sys.executable, "-u", str(script), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="backslashreplace",
        )
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._silent = False
        self._reader = threading.Thread(target=self._collect, daemon=True)
        self._reader.start()

    def _collect(self) -> None:
        assert self._child.stdout is not None
        for line in self._child.stdout:
            with self._news:
                self.lines.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._silent = True
            self._news.notify_all()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def output(self) -> str:
        return "\n".join(self.lines)

    def place_of(self, comment: str) -> tuple[str, int]:
        """The file and the line number of the script's line that carries this comment."""
        lines = self._script.read_text().splitlines()
        return str(self._script), next(number for number, line in enumerate(lines, 1) if comment in line)

    def printed(self, text: str) -> list[str]:
        """The lines so far that contain the text."""
        with self._news:
            return [line for line in self.lines if text in line]

    def wait_for(self, text: str, count: int = 1, seconds: float = PATIENCE_SECONDS) -> str:
        """Wait until the text was printed `count` times; the last of those lines."""
        with self._news:
            self._news.wait_for(lambda: self._silent or sum(text in line for line in self.lines) >= count, seconds)
        found = self.printed(text)
        if len(found) < count:
            raise AssertionError(f"{text!r} was printed {len(found)} times, not {count}, in:\n{self.output}")
        return found[count - 1]

    def wait_for_any(self, *texts: str) -> str:
        """Wait until one of the texts was printed; which one."""
        with self._news:
            self._news.wait_for(
                lambda: self._silent or any(text in line for line in self.lines for text in texts), PATIENCE_SECONDS
            )
        for text in texts:
            if self.printed(text):
                return text
        raise AssertionError(f"none of {texts} was printed in:\n{self.output}")

    def send(self, number: signal.Signals) -> None:
        self._child.send_signal(number)

    def freeze(self, app: App) -> None:
        """Suspend it, but not while it writes: one that stands still with the lock of the file keeps all others out."""
        with app.transaction():
            suspend_all([self.pid])

    def wait(self, seconds: float = PATIENCE_SECONDS) -> int:
        """Wait for the end and answer the exit code."""
        try:
            code = self._child.wait(seconds)
        except subprocess.TimeoutExpired:
            self.send(signal.SIGUSR1)
            self._await_silence()
            raise AssertionError(f"did not end within {seconds} s:\n{self.output}") from None
        self._reader.join(seconds)
        return code

    def _await_silence(self) -> None:
        """Until nothing was printed for a while: the dump of all threads is complete."""
        with self._news:
            while self._news.wait(0.5):
                pass

    def stop(self) -> None:
        """Ask it to stop in order, and check that it does."""
        self.send(signal.SIGTERM)
        assert self.wait() == 0, self.output

    def kill(self) -> None:
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()

    def end(self) -> None:
        """Whatever state it is in: kill it, reap it, close its pipe."""
        self.kill()
        self._reader.join(PATIENCE_SECONDS)
        if self._child.stdout is not None:
            self._child.stdout.close()


class Processes:
    """Starts processes on one store and ends them all."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._address = address
        self._started: list[Process] = []

    def worker(self, handlers: str, **settings: object) -> Process:
        """A worker with these handlers, registered: what it declares is known to the store."""
        process = self.launch(handlers, **settings)
        process.wait_for("started:")
        return process

    def launch(self, handlers: str, **settings: object) -> Process:
        """The same, without waiting for anything."""
        return self.script(textwrap.dedent(handlers) + RUN_WORKER, **settings)

    def script(self, body: str, **settings: object) -> Process:
        """A process with `app` and `settings` ready for the body."""
        script = self._folder / f"script_{len(self._started)}.py"
        script.write_text(PRELUDE + textwrap.dedent(body))
        process = Process(script, [self._address, json.dumps(settings)])
        self._started.append(process)
        return process

    def end(self) -> None:
        for process in self._started:
            process.end()
