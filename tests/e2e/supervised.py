"""`penstock worker tasks:app …` in a folder of its own, with all that it starts; nothing of it survives a test."""

from __future__ import annotations

import os
import re
import signal
import textwrap
from pathlib import Path

from tests.e2e.processes import Process

TASKS = """
import asyncio, os, signal, sys, threading, time
from penstock import App, Context, Fixed

address = {address!r}
app = App(address)


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

"""

SAVED_AT = 1.7e9
"""Python caches modules by the second and the size of their files: here two versions differ in neither."""

BOOT = """
import ctypes, faulthandler, os, signal, sys
from penstock.cli.main import main
from penstock.supervisor import process_slot, supervisor

faulthandler.register(signal.SIGUSR1, sys.stdout)
os.chdir({folder!r})
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
process_slot.KILL_SECONDS = {kill_seconds!r}
supervisor.RENEW_SECONDS = {renew_seconds!r}
supervisor.RELOAD_SECONDS = {reload_seconds!r}
if {subreaper!r}:
    PR_SET_CHILD_SUBREAPER = 36
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
sys.argv = ["penstock", "worker", "tasks:app", *sys.argv[1:]]
main()
"""


class Supervised:
    """One supervisor. `pids()` are its worker processes that are alive."""

    def __init__(self, folder: Path, address: str) -> None:
        self.folder = folder
        self.tasks = folder / "tasks.py"
        self._address = address
        self._process: Process | None = None

    def write(self, handlers: str) -> None:
        """Replace the code, in one step, and always with the same time of change."""
        new = self.folder / "new"
        new.write_text(TASKS.format(address=self._address) + textwrap.dedent(handlers))
        os.utime(new, (SAVED_AT, SAVED_AT))
        new.rename(self.tasks)

    def start(
        self,
        handlers: str,
        *flags: str,
        kill_seconds: float = 30.0,
        renew_seconds: float = 3.0,
        reload_seconds: float = 5.0,
        subreaper: bool = False,
    ) -> Process:
        self.write(handlers)
        boot = self.folder / "boot_script"
        boot.write_text(
            BOOT.format(
                folder=str(self.folder),
                kill_seconds=kill_seconds,
                renew_seconds=renew_seconds,
                reload_seconds=reload_seconds,
                subreaper=subreaper,
            )
        )
        self._process = Process(boot, list(flags))
        return self._process

    def pids(self) -> list[int]:
        if self._process is None:
            return []
        started = [re.search(r"started \(pid (\d+)\)", line) for line in self._process.printed("started (pid")]
        return [int(found[1]) for found in started if found and self._is_ours(int(found[1]))]

    def _is_ours(self, pid: int) -> bool:
        try:
            return alive(pid) and os.readlink(f"/proc/{pid}/cwd") == str(self.folder)
        except OSError:
            return False

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()  # First, so that it starts no others.
            for pid in self.pids():
                os.kill(pid, signal.SIGKILL)
            self._process.end()


def alive(pid: int) -> bool:
    """Whether the process exists and is more than a zombie that nobody has reaped."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
