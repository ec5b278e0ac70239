"""What a Ctrl-C does to a command: the process leaves with 130, and only what runs for the user may clean up first.

Python's own way, an exception wherever it happens to be, is for the body of a command alone. While modules are imported
and after the body has ended there is nothing to clean up, and nobody who would catch it.
"""

import os
import signal
from types import FrameType

from penstock.program.codes import INTERRUPTED


def leave_when_interrupted() -> None:
    """From now on, outside of a command's body. Whoever started us deaf to Ctrl-C, as nohup does, has us deaf."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


class RaisingInterrupts:
    """For the body of a command: a Ctrl-C raises KeyboardInterrupt in it."""

    def __enter__(self) -> None:
        self._leaves = signal.getsignal(signal.SIGINT) is _leave
        if self._leaves:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *error: object) -> None:
        if self._leaves:
            signal.signal(signal.SIGINT, _leave)
