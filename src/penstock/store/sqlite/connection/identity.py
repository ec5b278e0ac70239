"""Which file is at a path: asked before every transaction, so without a cost that is not seen here.

Since Linux 6.13 a file whose times were asked for gets new and finer ones with its next write, and then syncing it
costs a commit of the file system's journal: asking for the log by stat() made every commit a fifth dearer. statx() can
leave the times alone. And a file can only be taken away or replaced by changing its folder, which is one look for all.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from typing import Any

Identity = tuple[object, object]
Stamp = tuple[int, ...]

TRUST_SECONDS = 1.0
"""For so long at most a folder's word is enough. Over a mounted file, and on a file system that does not tell, it says
nothing.
"""
OPEN_FILES = b"/proc/self/fd"
TICK_NS = 20_000_000
WHOLE_TICK_NS = 2_000_000_000
SECOND_NS = 1_000_000_000

_AT_FDCWD = -100
_STATX_INO = 0x100
_INODE, _DEVICE = slice(32, 40), slice(136, 144)
_Buffer = ctypes.c_char * 256


_NOT_THERE = (FileNotFoundError, NotADirectoryError, PermissionError)
"""Not any error of the system: a signal's handler may raise one too."""


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


def is_open(identity: Identity | None) -> bool:
    """Whether this process has that file open. Where nobody can tell, it has."""
    try:
        numbers = os.listdir(OPEN_FILES)
    except _NOT_THERE:
        return True
    found = (file_identity(os.path.join(OPEN_FILES, number)) for number in numbers)
    return identity is not None and identity in found


class Folder:
    """Whether the files of one folder may have been taken away or replaced since somebody looked at each of them."""

    def __init__(self, path: bytes) -> None:
        self._path = path
        self._trusted: Stamp | None = None
        self._until = 0.0

    def stamp(self) -> Stamp | None:
        """Taken before looking at the files. None, if a change that comes right after it could bear the same time."""
        now = time.time_ns()
        try:
            found = os.stat(self._path)
        except _NOT_THERE:
            return None
        changed = found.st_ctime_ns  # Nobody can set this one.
        tick = TICK_NS if changed % SECOND_NS else WHOLE_TICK_NS
        return (found.st_ino, found.st_dev, changed, found.st_mtime_ns) if now - changed > tick else None

    def trust(self, stamp: Stamp | None) -> None:
        """All files were as they should be, after this stamp was taken."""
        self._until = time.monotonic() + TRUST_SECONDS
        self._trusted = stamp

    def is_trusted(self, stamp: Stamp | None) -> bool:
        return stamp is not None and stamp == self._trusted and time.monotonic() < self._until
