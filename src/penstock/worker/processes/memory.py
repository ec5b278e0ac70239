"""How much memory this process holds, and whether that is too much."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

LOOK_SECONDS = 1.0


def resident_bytes() -> int:
    """The resident set now, where the system tells it; elsewhere its peak."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[1]) * _page_bytes()
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def _page_bytes() -> int:
    import os

    return os.sysconf("SC_PAGE_SIZE")


async def watch_memory(limit: int | None, exceeded: Callable[[str], None]) -> None:
    """Look once a second whether this process holds more than it may."""
    while limit is not None:
        await asyncio.sleep(LOOK_SECONDS)
        held = resident_bytes()
        if held > limit:
            exceeded(f"it holds {held // 2**20} MiB, more than {limit // 2**20} MiB")
            return
