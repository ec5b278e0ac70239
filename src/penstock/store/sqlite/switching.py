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

SWITCH_SECONDS = 0.0002
HALF_MICROSECOND = 0.0000005

_lock = threading.Lock()
_writes = 0
_before = _ours = 0.0


def begin_quick_switching() -> None:
    """One more write is on its way. An interval that is shorter already is left alone."""
    global _writes, _before, _ours
    with _lock:
        _writes += 1
        if _writes == 1:
            _before = sys.getswitchinterval()
            if _before > SWITCH_SECONDS:
                sys.setswitchinterval(SWITCH_SECONDS)
            _ours = sys.getswitchinterval()


def end_quick_switching(writes: int) -> None:
    """So many writes are done. After the last, the interval is what it was; what somebody set meanwhile stays."""
    global _writes
    with _lock:
        _writes -= writes
        if _writes == 0 and sys.getswitchinterval() == _ours:
            sys.setswitchinterval(_before + HALF_MICROSECOND)  # It is cut to whole microseconds.


def _forget_in_child() -> None:
    """The writers of the parent are not in the child: nobody would say there that their writes are done."""
    global _lock
    _lock = threading.Lock()
    end_quick_switching(_writes)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
