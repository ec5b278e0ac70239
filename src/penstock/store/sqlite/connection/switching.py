"""How soon a thread that waits for the interpreter gets it, while the writer has something to do.

The writer gives the interpreter up for every step of a statement and has to ask for it back, and Python lets another
thread (an event loop that is busy with jobs, a handler that computes) keep it for 5 ms while it is asked for. From the
moment a write is handed in until it is answered, threads change places sooner; otherwise computing threads would pay
for nothing (docs/decisions/0012-switching.md).
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable

SWITCH_SECONDS = 0.0002
MICROSECOND = 0.000001

_lock = threading.Lock()
_under_way: set[object] = set()
_before = 0.0


def begin_quick_switching(write: object) -> None:
    """One more write is on its way. An interval that is shorter already is left alone."""
    global _before
    with _lock:
        if not _under_way:
            _before = sys.getswitchinterval()
        _under_way.add(write)
        if _before > SWITCH_SECONDS and len(_under_way) == 1:
            sys.setswitchinterval(SWITCH_SECONDS)


def end_quick_switching(writes: Iterable[object]) -> None:
    """These are done. After the last, the interval is what it was; what somebody set meanwhile stays."""
    with _lock:
        _under_way.difference_update(writes)
        if not _under_way and _before > SWITCH_SECONDS and _is_ours(sys.getswitchinterval()):
            sys.setswitchinterval(_before + MICROSECOND / 2)  # It is cut to whole microseconds.


def _is_ours(interval: float) -> bool:
    return abs(interval - SWITCH_SECONDS) < MICROSECOND / 2


def _forget_in_child() -> None:
    """The writers of the parent are not in the child: nobody would say there that their writes are done."""
    global _lock
    _lock = threading.Lock()
    end_quick_switching(list(_under_way))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
