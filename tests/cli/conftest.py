"""What the tests of the command line share: real processes, calls in this process, and a store with jobs in it."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from penstock import App, DoNotRetry
from tests.forked import STARTING, Forks

DEADLINE_SECONDS = 30.0
PENSTOCK = ("-m", "penstock")

TASKS = """
import asyncio
from pathlib import Path
from penstock import App, Context

app = App("sqlite:///jobs.db")

@app.job
async def greet(name: str) -> str:
    return f"hello {name}"

@app.job(attempts=1)
async def boom(what: str = "boom") -> None:
    raise ValueError(what)

@app.job
async def wait_for_file(ctx: Context, path: str) -> str:
    await ctx.progress(40, phase="waiting")
    while not Path(path).exists():
        await asyncio.sleep(0.02)
    return "found"
"""


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Program:
    """A command that runs in its own process, ended with the test."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.seen = ""

    def wait_for(self, text: str) -> None:
        """Read the output until `text` was seen."""
        stream = self.process.stdout
        assert stream is not None
        until = time.monotonic() + DEADLINE_SECONDS
        while text not in self.seen:
            ready, _, _ = select.select([stream], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(stream.fileno(), 65536).decode() if ready else ""
            assert chunk, f"never saw {text!r} in: {self.seen}"
            self.seen += chunk

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def end(self) -> Outcome:
        """Wait for the end; everything that was printed is in the answer."""
        out, err = self.process.communicate(timeout=DEADLINE_SECONDS)
        return Outcome(self.process.returncode, self.seen + out, err)


def plain_environment() -> dict[str, str]:
    plain = {key: value for key, value in os.environ.items() if not key.startswith("PENSTOCK_")}
    return plain | {"PYTHONUNBUFFERED": "1", "COLUMNS": "80"}


class Shell:
    """Runs `penstock …` in the test's folder."""

    def __init__(self, folder: Path, forks: Forks) -> None:
        self.folder = folder
        self.forks = forks
        self.programs: list[subprocess.Popen[Any]] = []
        self.env = plain_environment()

    def run(
        self, *args: str, stdin: str | None = None, env: dict[str, str] | None = None, program: Sequence[str] = PENSTOCK
    ) -> Outcome:
        """Run a command to its end. Its stdin is never a terminal."""
        if program is PENSTOCK and env is None and not STARTING.intersection(args[:1]):
            return Outcome(*self.forks.run(args, self.folder, self.env, stdin or "", DEADLINE_SECONDS))
        ended = subprocess.run(
            [sys.executable, *program, *args],
            cwd=self.folder, env=self.env | (env or {}), input=stdin or "", capture_output=True, text=True,
            timeout=DEADLINE_SECONDS, check=False,
        )  # fmt: skip
        return Outcome(ended.returncode, ended.stdout, ended.stderr)

    def start(self, *args: str) -> Program:
        process = subprocess.Popen(
            [sys.executable, *PENSTOCK, *args],
            cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self.programs.append(process)
        return Program(process)

    def run_unread(self, *args: str) -> Outcome:
        """Run a command whose output nobody reads: the pipe is closed before it begins."""
        reader, writer = os.pipe()
        os.close(reader)
        try:
            ended = subprocess.run(
                [sys.executable, *PENSTOCK, *args],
                cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.PIPE,
                text=True, timeout=DEADLINE_SECONDS, check=False,
            )  # fmt: skip
        finally:
            os.close(writer)
        return Outcome(ended.returncode, "", ended.stderr)

    def run_on_terminal(
        self, *args: str, answer: str = "", env: dict[str, str] | None = None, program: Sequence[str] = PENSTOCK
    ) -> Outcome:
        """Run a command on a terminal of 100 columns, with `answer` typed in."""
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, *program, *args],
            cwd=self.folder, env=self.env | {"COLUMNS": "100", "TERM": "xterm"} | (env or {}), stdin=slave,
            stdout=slave, stderr=slave,
        )  # fmt: skip
        self.programs.append(process)
        os.close(slave)
        if answer:
            os.write(master, answer.encode())
        shown = read_terminal(master)
        return Outcome(process.wait(DEADLINE_SECONDS), shown, "")

    def close(self) -> None:
        for process in self.programs:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


def read_terminal(master: int, until: str | None = None, then: Callable[[], None] = lambda: None) -> str:
    """All that a terminal is shown, to its end. When `until` was seen, `then` is called, once."""
    shown = b""
    ends = time.monotonic() + DEADLINE_SECONDS
    with os.fdopen(master, "rb", buffering=0) as terminal:
        while select.select([terminal], [], [], max(0.0, ends - time.monotonic()))[0]:
            try:
                chunk = terminal.read(65536)
            except OSError:  # how Linux says that the other side has closed
                break
            if not chunk:
                break
            shown += chunk
            if until is not None and until in shown.decode(errors="replace"):
                until = None
                then()
    return shown.decode()


@pytest.fixture(scope="session")
def forks() -> Iterator[Forks]:
    made = Forks(plain_environment())
    yield made
    made.close()


@pytest.fixture
def shell(tmp_path: Path, forks: Forks) -> Iterator[Shell]:
    made = Shell(tmp_path, forks)
    yield made
    made.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a module `tasks` whose `app` has three jobs."""
    (tmp_path / "tasks.py").write_text(TASKS)
    return tmp_path


Call = Callable[..., Outcome]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command in this process, with the test's store in PENSTOCK_STORE."""
    from penstock.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_STORE", "sqlite:///jobs.db")

    def call(*args: str) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as leaving:
            main(args)
        printed = capsys.readouterr()
        code = leaving.value.code
        return Outcome(code if isinstance(code, int) else 0, printed.out, printed.err)

    return call


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    """An app on the test's store, with the same names as the project and one more that dies at once."""
    made = App(f"sqlite:///{tmp_path}/jobs.db")

    @made.job
    async def greet(name: str = "you") -> str:
        return f"hello {name}"

    @made.job(attempts=1, queue="risky")
    async def boom(what: str = "boom") -> None:
        raise ValueError(what)

    @made.job
    async def hopeless(what: str) -> None:
        raise DoNotRetry(what)

    made.store.migrate()
    yield made
    made.close()


def run_all(app: App) -> None:
    """Run what is due, in this process."""
    asyncio.run(app.run_worker(burst=True))


@pytest.fixture
def dead(app: App) -> Callable[[int], list[str]]:
    """Make that many dead letters of type boom, oldest first."""

    def make(count: int) -> list[str]:
        jobs = [app.enqueue("boom", {"what": f"boom {number}"}) for number in range(count)]
        run_all(app)
        return [job.id for job in jobs]

    return make
