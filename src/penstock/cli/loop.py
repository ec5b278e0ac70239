"""The event loop of worker processes: uvloop where it is installed, else asyncio's own."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec


def new_event_loop() -> asyncio.AbstractEventLoop:
    if find_spec("uvloop") is None:
        return asyncio.new_event_loop()
    import uvloop

    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def loop_name() -> str:
    return "asyncio" if find_spec("uvloop") is None else "uvloop"
