"""What the figures depend on: the versions, the machine and its disk."""

from __future__ import annotations

import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from penstock.program.loop import loop_name
from penstock.worker.settings import cores

FLUSHES = 100
PAGE = b"x" * 8192


def machine() -> dict[str, Any]:
    return {
        "penstock": version("penstock"),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "event_loop": loop_name(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": cores(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def disk_flush_ms(folder: str) -> float:
    """How long it takes to write 8 kB and have them on the disk, which every commit waits for."""
    sync = getattr(os, "fdatasync", os.fsync)
    with tempfile.TemporaryFile(dir=folder) as file:

        def flush() -> None:
            os.pwrite(file.fileno(), PAGE, 0)
            sync(file.fileno())

        return median_ms(flush, FLUSHES)


def median_ms(action: Callable[[], Any], times: int) -> float:
    """The median time of an action, its first one not counted."""
    action()
    found = []
    for _ in range(times):
        begun = time.perf_counter()
        action()
        found.append(time.perf_counter() - begun)
    return round(statistics.median(found) * 1000, 3)
