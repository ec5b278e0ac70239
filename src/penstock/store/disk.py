"""What kind of file system a folder is on, for every engine or tool that depends on a real local disk."""

from __future__ import annotations

from pathlib import Path

IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})


def file_system(folder: str) -> str | None:
    """The kind of the deepest mount above the folder, of the latest if several are in one place; None if not known."""
    best, kind = -1, None
    for line in read_mounts().splitlines():
        left, _, right = line.partition(" - ")
        point = _unescaped(left.split(" ")[4])
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= best:
            best, kind = len(point), right.split(" ")[0]
    return kind


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
