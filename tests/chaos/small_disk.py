"""A disk that is small enough to be filled: in memory, mounted for one run, and gone with whoever made it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.chaos.actors import Broken

MEBIBYTES = 96
"""More than what `penstock doctor` wants to be free."""
PIECES = (1 << 20, 1 << 12)
UNMOUNT = 'read -r _; umount -l "$0"; rmdir "$0"'
"""Its input ends when the process that made the disk ends, however that went."""


class SmallDisk:
    """From `with` to its end there is a folder at `path` that can be filled to the last byte, and emptied again."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="penstock-disk-", dir="/tmp")).resolve()
        self._ballast = self.path / "ballast"
        self._end: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._end = subprocess.Popen(
            ["sh", "-c", UNMOUNT, str(self.path)], stdin=subprocess.PIPE, start_new_session=True
        )  # fmt: skip
        mount = ["mount", "-t", "tmpfs", "-o", f"size={MEBIBYTES}m,mode=0711", "penstock", str(self.path)]
        told = subprocess.run(mount, capture_output=True, text=True, check=False)
        if told.returncode != 0:
            self.close()
            raise Broken(f"a small disk could not be mounted, run this fault as root: {told.stderr}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        assert self._end is not None
        assert self._end.stdin is not None
        self._end.stdin.close()
        if self._end.wait(60) != 0:
            raise RuntimeError(f"{self.path} could not be unmounted: see the error above, and do it by hand")

    def fill(self) -> None:
        """To the last page."""
        with self._ballast.open("ab", buffering=0) as file:
            for piece in PIECES:
                with contextlib.suppress(OSError):
                    while True:
                        file.write(bytes(piece))

    def empty(self) -> None:
        self._ballast.unlink(missing_ok=True)

    def give(self, user: int, group: int) -> None:
        """To those whose disk it is."""
        os.chown(self.path, user, group)
