"""Python processes that need not import everything anew: to start one takes a tenth of the time.

They are forked from a process that has imported penstock already and has done nothing else. Where a test is about the
start itself, it starts a real one.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from tests.nursery.program import Order

ROOT = Path(__file__).parents[2]
SET_CHILD_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
LOOK_SECONDS = 0.005
_starting = threading.Lock()


class Child:
    """A child of this process, with those methods of Popen that are needed."""

    def __init__(self, program: str, pid: int) -> None:
        self.program = program
        self.pid = pid
        self._code: int | None = None
        self._asking = threading.Lock()

    def poll(self) -> int | None:
        """Its exit code once it has ended."""
        with self._asking:
            if self._code is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                self._code = os.waitstatus_to_exitcode(status) if pid else None
            return self._code

    def wait(self, seconds: float | None = None) -> int:
        end = None if seconds is None else time.monotonic() + seconds
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired(self.program, seconds or 0.0)
            time.sleep(LOOK_SECONDS)
        return code

    def send_signal(self, number: signal.Signals) -> None:
        """Never to another process: as long as nobody has asked how it ended, its number is its own."""
        with self._asking:
            if self._code is None:
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    program: str, *arguments: str, environment: Mapping[str, str], stdin: int, stdout: int
) -> Child | subprocess.Popen[bytes]:
    """Run a file or a module in a process of its own, with its errors where its output goes."""
    if sys.platform != "linux":  # Only there can a process adopt another.
        command = [program] if program.endswith(".py") else ["-m", program]
        return subprocess.Popen(
            [sys.executable, "-u", *command, *arguments], env=environment, stdin=stdin, stdout=stdout, stderr=stdout
        )
    with _starting, _adopting():
        line = _nursery()
        order = Order(program, list(arguments), dict(environment))
        socket.send_fds(line, [msgspec.json.encode(order)], [stdin, stdout])
        told = line.recv(8)
    if not told:
        raise RuntimeError("the process that others are forked from has ended: see its error above")
    return Child(program, int.from_bytes(told, "big"))


@contextmanager
def _adopting() -> Iterator[None]:
    """Within the block, a process whose parent ends becomes a child of this one instead of the system's first."""
    libc = ctypes.CDLL(None)
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(SET_CHILD_SUBREAPER, 0, 0, 0, 0)


@functools.cache
def _nursery() -> socket.socket:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "tests.nursery.program"],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": path()}, stdin=there.fileno(),
    )  # fmt: skip
    there.close()

    def end() -> None:
        here.close()
        process.wait(30)

    atexit.register(end)
    return here


def path() -> str:
    """Where the programs of this repository are, and whatever else was named."""
    return os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
