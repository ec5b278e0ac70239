"""How much memory this process holds."""

from __future__ import annotations

import sys


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
