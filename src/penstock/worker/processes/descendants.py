"""Ends what a process has started, also what has left its group or session. Linux only; elsewhere it finds nothing.

The process must be a child subreaper (`adopt_orphans`): then whatever it started stays below it in the tree of
processes, also when those between have ended (a daemon that was forked twice).
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
ROUNDS_MAX = 1000
ON_LINUX = sys.platform == "linux" and hasattr(os, "pidfd_open")


def adopt_orphans() -> None:
    """Become the parent of whatever this process has started, however indirectly, when its own parent has ended."""
    if ON_LINUX:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def kill_descendants(pid: int) -> None:
    """Kill everything below this process, which must not go on starting more: stop it first, if it is another."""
    _kill_all(lambda: _below(pid), lambda one: _is_below(one, pid))


def kill_marked(mark: str) -> None:
    """Kill what was started with this in its environment. That finds those whose common parent has ended: they belong
    to somebody else by then. What has cleared its environment is not found.
    """
    _kill_all(lambda: {one for one in _all() if _has_mark(one, mark)}, lambda one: _has_mark(one, mark))


def _kill_all(find: Callable[[], set[int]], still: Callable[[int], bool]) -> None:
    """Nothing else is ever hit: a process is looked at again after it is held by a descriptor, so that a number that
    was given to another meanwhile is noticed.
    """
    if not ON_LINUX:
        return
    killed: set[int] = set()
    quiet = 0
    for _ in range(ROUNDS_MAX):
        new = find() - killed
        killed |= {one for one in new if _kill_one(one, still)}
        # While one ends, those below it move up; a look may come just between. What is told to die starts no more.
        quiet = 0 if new else quiet + 1
        if quiet == 2:
            return


def children_of(pid: int) -> list[int]:
    """The processes whose parent this is, those included that have ended and were not waited for."""
    try:
        tasks = [(task / "children").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:  # It has ended, or the kernel does not tell: look at all.
        return [one for one in _all() if _parent_of(one) == pid]
    return [int(child) for task in tasks for child in task.split()]


def _below(pid: int) -> set[int]:
    found: set[int] = set()
    todo = [pid]
    while todo:
        new = set(children_of(todo.pop())) - found
        found |= new
        todo += new
    return found


def _kill_one(one: int, still: Callable[[int], bool]) -> bool:
    """Kill it if it still is what was found. False if it does not look so."""
    try:
        held = os.pidfd_open(one)
    except OSError:
        return True  # It has ended.
    try:
        if not still(one):
            return False
        signal.pidfd_send_signal(held, signal.SIGKILL)
        return True
    except OSError:
        return True
    finally:
        os.close(held)


def _is_below(one: int, pid: int) -> bool:
    while one > 1:
        one = _parent_of(one)
        if one == pid:
            return True
    return False


def _has_mark(pid: int, mark: str) -> bool:
    try:
        return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False  # It has ended, or is somebody else's.


def _parent_of(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def _all() -> list[int]:
    return [int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit()]
