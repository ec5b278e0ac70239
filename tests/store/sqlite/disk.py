"""A disk that counts what is synced and fails when it is told to."""

from __future__ import annotations

import itertools

import apsw

_numbers = itertools.count()


class Disk(apsw.VFS):
    """The real file system with a watcher in between. Pass `disk.name` as vfs= to a store."""

    def __init__(self) -> None:
        self.name = f"disk{next(_numbers)}"
        self.wal_syncs = 0
        self.full = False
        self.failing_syncs = 0
        super().__init__(self.name, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return WatchedFile(self, name, flags)


class WatchedFile(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str | apsw.URIFilename | None, flags: list[int]) -> None:
        self._disk = disk
        self._is_wal = bool(flags[0] & apsw.SQLITE_OPEN_WAL)
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if self._is_wal:
            if self._disk.failing_syncs:
                self._disk.failing_syncs -= 1
                raise apsw.IOError("the disk failed on purpose")
            self._disk.wal_syncs += 1
        super().xSync(flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        if self._is_wal and self._disk.full:
            raise apsw.FullError("the disk is full on purpose")
        super().xWrite(data, offset)
