"""Holding things in plain code so that an interrupt cannot lose them.

A signal handler that raises (Ctrl-C, an alarm) does so in the main thread, and not anywhere: CPython looks for signals
when a function begins, when a loop goes round, and when a call has returned. It does not between a call that C makes
and the next, nor between an exception and the first call of the clause that catches it. So whoever holds something that
others wait for (a lock, a turn, a place in a pool, an open transaction)

- takes it and notes that it has it in one step of C: take(); gives it away likewise: give();
- holds it inside of whole(), whose clean-up looks at what is noted and may be begun anew;
- waits on locks and queues of C alone: those of `threading` that are written in Python (Event, Condition, Semaphore)
  can be left in the middle, locked for ever. `with lock` is safe, and so is a thread that C starts.

Threads other than the main one are never interrupted (docs/decisions/0021-interrupts.md).
"""

from __future__ import annotations

from _thread import start_new_thread
from collections import deque
from collections.abc import Callable
from itertools import starmap
from typing import Any, TypeVar

T = TypeVar("T")

_exhaust: Callable[[Any], None] = deque[Any](maxlen=0).extend
_LAST = (-1,)


def take(held: list[T], get: Callable[..., T], *arguments: Any) -> T:
    """Call, and note in `held` what came back: no interrupt comes between."""
    held.extend(starmap(get, (arguments,)))
    return held[-1]


def give(held: list[T], put: Callable[..., Any]) -> None:
    """Hand what was noted last to a function of C, and forget it: no interrupt comes between."""
    _exhaust(map(put, map(held.pop, _LAST)))


def whole(work: Callable[..., T], clean: Callable[..., object], *arguments: Any) -> T:
    """Work that ends, or is cleaned up after. If the clean-up is interrupted too, a thread does it, which cannot be."""
    try:
        return work(*arguments)
    except BaseException:
        try:
            clean(*arguments)
        except BaseException:
            start_new_thread(clean, arguments)
            raise
        raise
