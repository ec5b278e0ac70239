"""What kind of file system a folder is on, for every engine or tool that depends on a real local disk."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})


class Mount(NamedTuple):
    """A mounted file system: its kind, such as ext4, and its options."""

    kind: str
    options: frozenset[str]


def file_system(folder: str) -> str | None:
    """The kind of file system that the folder is on; None if not known."""
    found = mount_of(folder)
    return found and found.kind


def mount_of(folder: str) -> Mount | None:
    """The deepest mount above the folder, the latest if several are in one place; None if not known."""
    best, found = -1, None
    for line in read_mounts().splitlines():
        left, _, right = line.partition(" - ")
        fields, own = left.split(" "), right.split(" ")
        point = _unescaped(fields[4])
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, found = len(point), Mount(own[0], frozenset(f"{fields[5]},{own[-1]}".split(",")))
    return found


def read_mounts() -> str:
    """The kernel's table of mounts, or nothing where there is no such table."""
    try:
        return Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return ""


def _unescaped(text: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(code, character)
    return text
