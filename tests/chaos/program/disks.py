"""A disk that is full while a file says so."""

from __future__ import annotations

import os

import apsw


class FillingDisk(apsw.VFS):
    """The real file system, on which nothing can be written to the log while the file at `full` exists."""

    def __init__(self, full: str) -> None:
        self.name = "filling"
        self._full = full
        super().__init__(self.name, "")

    @property
    def full(self) -> bool:
        return os.path.exists(self._full)

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return FillingFile(self, name, flags)


class FillingFile(apsw.VFSFile):
    def __init__(self, disk: FillingDisk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._is_wal = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._is_wal and self._disk.full:
            raise apsw.FullError("the disk is full on purpose")
        super().xWrite(data, offset)
