"""Which file is at a path: asked before every transaction, so without a cost that is not seen here.

Since Linux 6.13 a file whose times were asked for gets new and finer ones with its next write, and then syncing it
costs a commit of the file system's journal: asking for the log by stat() made every commit a fifth dearer. statx() can
leave the times alone.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

Identity = tuple[object, object]

_AT_FDCWD = -100
_STATX_INO = 0x100
_INODE, _DEVICE = slice(32, 40), slice(136, 144)
_Buffer = ctypes.c_char * 256


def _find_statx() -> Callable[..., int] | None:
    try:
        found: Any = ctypes.CDLL(None).statx
    except (AttributeError, OSError, TypeError):  # pragma: no cover — not Linux, or a libc that is older than 2018
        return None
    call: Callable[..., int] = found
    return call


_statx = _find_statx()


def file_identity(path: bytes) -> Identity | None:
    """Which file is at the path now, or None. The same file has the same identity for as long as this process lives."""
    if _statx is not None:
        buffer = _Buffer()
        if _statx(_AT_FDCWD, path, 0, _STATX_INO, buffer) == 0:
            raw = buffer.raw
            return raw[_INODE], raw[_DEVICE]
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_dev
