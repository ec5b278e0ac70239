"""The event loop of a command: uvloop where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec


@contextmanager
def event_loop() -> Iterator[asyncio.Runner]:
    """A runner whose loop is made. An interrupt waits until then: half a loop complains when it is forgotten."""
    runner = asyncio.Runner(loop_factory=new_event_loop)
    try:  # Not `with runner`, which makes the loop before interrupts can be held back.
        with deaf_to_interrupts():
            runner.get_loop()
        yield runner
    finally:
        runner.close()


@contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """An interrupt is heard when this ends. Processes that are started here do not hear one: who starts them ends them.

    The mask is what they inherit; it does not hold back here what another thread hears, because Python hands that to
    this one.
    """
    heard: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, handler)
        if heard:
            signal.raise_signal(signal.SIGINT)


def new_event_loop() -> asyncio.AbstractEventLoop:
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    import uvloop

    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def loop_name() -> str:
    return "asyncio" if find_spec("uvloop") is None else "uvloop"
