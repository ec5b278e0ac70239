"""Runs the check of types and all tests in parts, three at once, the longest first: much of their time is waiting.

A part that is done says how long it took; one that failed says everything. Not by a shell's `&`, which would make the
parts in the background deaf to SIGINT, and what they start too.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import IO

AT_ONCE = 3
LOOK_SECONDS = 0.2
INTERRUPTED = 130
TYPES = [sys.executable, "-m", "mypy"]
PYTEST = [sys.executable, "-m", "pytest"]
MEASURED = [sys.executable, "-m", "coverage", "run", "-p", "-m", "pytest"]
FOLDERS = {
    "e2e": PYTEST, "contract": MEASURED, "chaos": PYTEST, "store": MEASURED, "simulation": PYTEST, "cli": PYTEST,
    "worker": PYTEST, "unit": MEASURED, "docs": PYTEST,
}  # fmt: skip
"""Each a part of its own; all that is not named is the last. What mostly waits is beside what mostly works. Coverage is
that of the store and the domain, and costs time: it is measured where they are tested.
"""
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

    def said(self) -> str:
        self.output.seek(0)
        return self.output.read().decode(errors="replace")


def start(name: str, command: Sequence[str]) -> Part:
    output = tempfile.TemporaryFile()  # noqa: SIM115 — closed in stop()
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
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


def hear_interrupts() -> None:
    """Also when a shell's `&` has made this process deaf to SIGINT: what it starts would be deaf too, and fail."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def whole() -> dict[str, list[str]]:
    """The commands of all parts, by name."""
    parts = {f"tests/{folder}": [*command, f"tests/{folder}"] for folder, command in FOLDERS.items()}
    others = [*PYTEST, *(f"--ignore={name}" for name in parts)]
    parts["tests/contract"] += ["-k", f"not ({AGAIN})"]
    return {"tests/contract again": [*PYTEST, "tests/contract", "-k", AGAIN], **parts, "the others": others}


def main(commands: dict[str, list[str]] | None = None) -> int:
    waiting = list((commands or {"types": TYPES, **whole()}).items())
    running: list[Part] = []
    worst = 0
    hear_interrupts()
    try:
        while waiting or running:
            while waiting and len(running) < AT_ONCE:
                running.append(start(*waiting.pop(0)))
            time.sleep(LOOK_SECONDS)
            for part in [part for part in running if part.process.poll() is not None]:
                worst = max(worst, abs(part.process.returncode))
                told = part.said().strip()
                say(told if part.process.returncode else f"{part.name}: {told.rpartition(chr(10))[2].strip('= ')}")
                running.remove(part)
                stop([part])
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        stop(running)
    return worst


if __name__ == "__main__":
    sys.exit(main())
