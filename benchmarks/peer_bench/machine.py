"""What the figures depend on: the machine, its disk and its system."""

from __future__ import annotations

import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from penstock.store.disk import file_system

FLUSHES = 200
PAGE = b"x" * 8192


def describe(place: Path) -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "file_system": file_system(str(place)) or "unknown",
        "disk_flush_ms": round(flush_ms(place), 3),
    }


def flush_ms(place: Path) -> float:
    """The median time of writing a page and having it on the disk, which every commit waits for."""
    sync = getattr(os, "fdatasync", os.fsync)
    found = []
    with tempfile.TemporaryFile(dir=place) as file:
        for _ in range(FLUSHES):
            begun = time.perf_counter()
            os.pwrite(file.fileno(), PAGE, 0)
            sync(file.fileno())
            found.append(time.perf_counter() - begun)
    return statistics.median(found) * 1000


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def revision(folder: Path) -> str:
    """Which version of the checkout was measured."""
    git = shutil.which("git")
    if git is None or not (folder / ".git").exists():
        return "unknown"
    commit = _said(git, "-C", str(folder), "rev-parse", "--short", "HEAD")
    changed = _said(git, "-C", str(folder), "status", "--porcelain", "--untracked-files=no", "--", "src")
    return f"{commit}{' with changes' if changed else ''}"


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
