"""How soon a thread that waits for the interpreter gets it, while a worker runs in this process.

The event loop, the store's thread and the threads of handlers share one interpreter, and Python lets one of them keep
it for 5 ms while others wait. A store's thread that must ask for it several times in a transaction then only gets on
while the loop has nothing to do (docs/decisions/0012-switching.md).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_SECONDS = 0.001

_lock = threading.Lock()
_before: list[float] = []


@contextmanager
def quick_switching() -> Iterator[None]:
    """From the first worker of this process to the last. An interval that is shorter already is left alone."""
    with _lock:
        _before.append(sys.getswitchinterval() if not _before else _before[0])
        sys.setswitchinterval(min(_before[0], SWITCH_SECONDS))
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before:
                sys.setswitchinterval(before)
