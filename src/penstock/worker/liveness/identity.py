"""Which process this is, so that a later one on the same machine can tell whether it is gone.

A process id alone says little: ids are used again, and in every container there is a first process. So it is compared
together with the boot of the machine, the namespace in which the id counts, and the moment at which the process began.
Where that is not known, nobody is taken for gone: then only its silence tells.
"""

from __future__ import annotations

import os
from pathlib import Path

_PROC = Path("/proc")


def own_identity() -> str | None:
    """Of this process; None where the system does not tell."""
    began = _began(os.getpid())
    place = _place()
    return None if began is None or place is None else f"{place} {os.getpid()} {began}"


def is_gone(identity: str | None) -> bool:
    """Whether the process is known to run no more. False also when that cannot be known from here."""
    if identity is None:
        return False
    place, _, process = identity.partition(" ")
    pid, _, began = process.partition(" ")
    if place != _place() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # It is somebody else's, or hidden: there is one.
    return (_began(int(pid)) or began) != began


def _place() -> str | None:
    """Where process ids count: this boot of this machine, and a namespace in it."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{(_PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return None


def _began(pid: int) -> str | None:
    """When it began, in ticks since the boot; None if that cannot be read. One that has ended has not begun again."""
    try:
        # The name of the program comes before, in brackets, and may hold anything.
        fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    ended = fields[0] in "ZX"
    return "ended" if ended else fields[19]
