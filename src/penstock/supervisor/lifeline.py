"""How a worker process notices that its supervisor is gone: the end of a pipe that only the supervisor holds open."""

from __future__ import annotations

import os
import signal
import threading

LIFELINE = "PENSTOCK_SUPERVISOR_FD"
"""The environment variable with the number of the pipe's reading end; set by the supervisor for its workers."""


def stop_when_supervisor_dies() -> bool:
    """In a worker process, before its loop runs: whether it has a supervisor; if that dies, stop as on SIGTERM."""
    number = os.environ.pop(LIFELINE, "")  # Not for processes that a handler starts.
    if not number.isdecimal():
        return False
    pipe = int(number)
    try:
        os.set_inheritable(pipe, False)
    except OSError:
        return False
    threading.Thread(target=_stop_at_end_of, args=(pipe,), name="penstock-lifeline", daemon=True).start()
    return True


def _stop_at_end_of(pipe: int) -> None:
    os.read(pipe, 1)  # Nothing is ever written: this returns when the other end is gone.
    os.kill(os.getpid(), signal.SIGTERM)
