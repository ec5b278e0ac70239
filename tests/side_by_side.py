"""Runs the check of types and all tests in parts, three at once, the longest first: much of their time is waiting.

`--coverage` measures which lines of the store and the domain they go over, which doubles the time of those that do.
`--long` runs the long tests instead: all of them, one of ten slices (`--long 3`), or the one that is due at this commit
(`--long next`). A part that is done says how long it took, and what it left out; one that failed says everything. Not
by a shell's `&`, which would make the parts in the background deaf to SIGINT, and what they start too.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tests.commands import INTERRUPTED, hear_interrupts
from tests.long import NOT_RUN, SLICES, turn

AT_ONCE = 3
LOOK_SECONDS = 0.2
MEMORY_BYTES = 4 << 30
"""What must be free; they take less than half a GiB at a time."""
NOTHING_CHOSEN = 5
"""How pytest ends when none of the tests is wanted."""
TYPES = [sys.executable, "-m", "mypy"]
PYTEST = [sys.executable, "-m", "pytest"]
MEASURED = [sys.executable, "-m", "coverage", "run", "-p", "-m", "pytest"]
FOLDERS = ("e2e", "contract", "chaos", "store", "simulation", "cli", "worker", "unit", "docs", "nets")
"""Each a part of its own; all that is not named is the last. What mostly waits is beside what mostly works."""
COVERING = ("contract", "store", "unit")
"""Where the store and the domain are tested."""
AGAIN = "postgresql-16 or model or very_many_steps"
"""Tests of the contract that go over the same lines very often or once more, and need not be measured: a part of their
own.
"""


@dataclass
class Part:
    name: str
    command: Sequence[str]
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    began: float

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def failed(self) -> int:
        """Its code. That nothing was to be run is no failure."""
        code = abs(self.process.returncode)
        return 0 if code == NOTHING_CHOSEN else code

    def said(self) -> str:
        self.output.seek(0)
        return self.output.read().decode(errors="replace")


def start(name: str, command: Sequence[str], folder: str | None = None) -> Part:
    """With a folder for what it makes, if not where such things are made by default."""
    output = tempfile.TemporaryFile()  # noqa: SIM115 — closed in stop()
    env = {**os.environ, "TMPDIR": folder} if folder else None
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=env)
    return Part(name, command, process, output, time.monotonic())


def stop(parts: Iterable[Part]) -> None:
    """As Ctrl-C would: each cleans up after itself."""
    running = [part for part in parts if not part.output.closed]
    for part in running:
        if part.process.poll() is None:
            part.process.send_signal(signal.SIGINT)
    for part in running:
        part.process.wait()
        part.output.close()


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def whole(*, measured: bool = False) -> dict[str, list[str]]:
    """The commands of all parts of `make test`, by name."""
    parts = {
        f"tests/{folder}": [*(MEASURED if measured and folder in COVERING else PYTEST), f"tests/{folder}"]
        for folder in FOLDERS
    }
    others = [*PYTEST, *(f"--ignore={name}" for name in parts)]
    parts["tests/contract"] += ["-k", f"not ({AGAIN})"]
    parts = {"tests/contract again": [*PYTEST, "tests/contract", "-k", AGAIN], **parts, "the others": others}
    return {"types": TYPES, **{name: [*command, "--long=none"] for name, command in parts.items()}}


def long(which: str) -> dict[str, list[str]]:
    """The commands of all parts of the long tests, or of one slice of them."""
    parts = {f"tests/{folder}": [*PYTEST, f"tests/{folder}"] for folder in FOLDERS}
    parts["the others"] = [*PYTEST, *(f"--ignore={name}" for name in parts)]
    return {name: [*command, f"--long={which}"] for name, command in parts.items()}


def chosen(arguments: Sequence[str]) -> dict[str, list[str]]:
    if not arguments:
        return whole()
    if arguments == ["--coverage"]:
        return whole(measured=True)
    option, which = (*arguments, "all")[:2]
    if option != "--long":
        raise SystemExit(f"python -m tests.side_by_side [--coverage | --long [all | next | 0 … {SLICES - 1}]]")
    if which not in ("all", "next", *map(str, range(SLICES))):
        raise SystemExit(f"there is no slice {which!r} of the long tests: SLICE=0 … {SLICES - 1}, or next")
    if which == "next":  # `make test` has run what has its turn now.
        which = str((turn() + SLICES // 2) % SLICES)
        say(f"the long tests: slice {which} of {SLICES}; `make test-long` runs all of them")
    return long("only" if which == "all" else which)


def report(part: Part) -> str:
    """All of a failure; of what went well its last line, and what it left out."""
    told = part.said().strip()
    if part.failed:
        return told
    lines = told.splitlines() or [""]
    return "\n".join([f"{part.name}: {lines[-1].strip('= ')}", *(one for one in lines[:-1] if one.startswith(NOT_RUN))])


@contextmanager
def in_memory(memory: Path = Path("/dev/shm")) -> Iterator[str | None]:
    """A folder in memory, where there is room for all that tests make there: their servers and files do not wait for a
    disk then. The long tests do without it.
    """
    if not memory.is_dir() or shutil.disk_usage(memory).free < MEMORY_BYTES:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="penstock-tests-", dir=memory, ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)  # Servers do not run as root.
        yield folder


def main(commands: dict[str, list[str]], folder: str | None = None) -> int:
    waiting = list(commands.items())
    running: list[Part] = []
    worst = 0
    hear_interrupts()
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(start(*waiting.pop(0), folder))
            time.sleep(LOOK_SECONDS)
            for part in [part for part in running if part.process.poll() is not None]:
                worst = max(worst, part.failed)
                say(report(part))
                running.remove(part)
                stop([part])
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        stop(running)
    return worst


if __name__ == "__main__":
    commands = chosen(sys.argv[1:])
    with in_memory() if "types" in commands else nullcontext() as folder:
        code = main(commands, folder)
    sys.exit(code)
