"""A view of the file system that only this process has, and those that it starts: as in a container."""

from __future__ import annotations

import ctypes
import os
import sys

NEW_NAMESPACE = 0x20000  # CLONE_NEWNS
BIND, ALL_BELOW, PRIVATE = 0x1000, 0x4000, 0x40000  # MS_BIND, MS_REC, MS_PRIVATE

_libc = ctypes.CDLL(None, use_errno=True)


def see_only_as(volume: str, mounted: str) -> None:
    """From here on the volume is at `mounted`, and where it was is nothing. It all goes with the last who sees it.

    To be called before there are threads: each has a view of its own.
    """
    _must(_libc.unshare(NEW_NAMESPACE), "a mount namespace of its own")
    _mount("none", "/", None, ALL_BELOW | PRIVATE)
    _mount(volume, mounted, None, BIND)
    _mount("none", volume, "tmpfs", 0)


def _mount(source: str, target: str, kind: str | None, flags: int) -> None:
    given = None if kind is None else kind.encode()
    _must(_libc.mount(source.encode(), target.encode(), given, flags, None), f"a mount at {target}")


def _must(answer: int, what: str) -> None:
    if answer != 0:
        error = ctypes.get_errno()
        raise PermissionError(error, f"{what} was refused ({os.strerror(error)}): run this fault as root")


if __name__ == "__main__":
    see_only_as(*sys.argv[1:])
