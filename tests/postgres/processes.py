"""What the system knows of processes: who started whom, and who still lives. From /proc, or nothing where it is not."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from pathlib import Path


def children(pid: int) -> list[int]:
    return [int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if _state(stat)[1] == pid]


def lives(pid: int) -> bool:
    """Whether it still runs: one that has ended but was not yet collected does not."""
    return _state(Path(f"/proc/{pid}/stat"))[0] not in ("", "Z", "X")


def runs(pid: int) -> bool:
    """Whether any thread of it is not suspended: one that is in a call of the system stops only after it."""
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return any(_state(thread)[0] not in ("", "Z", "X", "T", "t") for thread in threads)


def send_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def suspend_all(pids: list[int]) -> None:
    """Suspend them and wait until they stand still: a signal takes a moment to arrive."""
    send_all(pids, signal.SIGSTOP)
    wait_until(lambda: not any(map(runs, pids)), "all of these processes stand still")


def wait_until(happened: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Look again and again until it is so; the name of what is awaited makes the error readable."""
    give_up = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > give_up:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(0.01)


def _state(stat: Path) -> tuple[str, int]:
    """State and parent, which follow the name in parentheses; nothing of a process that is gone."""
    try:
        state, parent, *_ = stat.read_text(errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return "", 0
    return state, int(parent)
