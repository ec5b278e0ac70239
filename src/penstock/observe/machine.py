"""What is worth knowing of the machine and this Python before blaming anything else."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from importlib.util import find_spec

from penstock.store.contract import Finding

OPEN_FILES_MIN = 1024


def check_machine() -> list[Finding]:
    return [_versions(), _event_loop(), _open_files(_open_files_limit()), _size()]


def _versions() -> Finding:
    said = (
        f"penstock {version('penstock')}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    )
    return Finding("versions", "ok", said)


def _event_loop() -> Finding:
    without = "asyncio's own; pip install 'penstock[uvloop]' makes small async jobs cheaper"
    return Finding("event loop", "ok", without if find_spec("uvloop") is None else "uvloop")


def _open_files_limit() -> int | None:
    try:
        import resource
    except ImportError:  # pragma: no cover — a platform without such limits
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def _open_files(limit: int | None) -> Finding:
    if limit is None or limit >= OPEN_FILES_MIN:
        return Finding("open files", "ok", "no limit" if limit is None else f"at most {limit:,}")
    return Finding(
        "open files", "warning",
        f"a process may open only {limit:,} files; 50 jobs at once that each use a connection or two can need more",
        "raise the limit: ulimit -n 4096, or LimitNOFILE=4096 in a systemd unit",
    )  # fmt: skip


def _size() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = ""
    if hasattr(os, "sysconf") and {"SC_PAGE_SIZE", "SC_PHYS_PAGES"} <= set(os.sysconf_names):
        memory = f", {os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB of memory"
    return Finding("machine", "ok", f"{cores} core{'' if cores == 1 else 's'} to use{memory}")
