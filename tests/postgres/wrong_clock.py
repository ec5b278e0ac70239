"""A clock that can be set, under a private server: libfaketime answers instead of the system's.

The server is told of a time that is never ahead of the right one: its timers go off by the right clock inside of
libfaketime, and one that was to go off later than that is set anew and never heard. So what is called no step here is
already behind, by `BASE_SECONDS`. Not for Python: its sleeps are refused by libfaketime 0.9.10 (EINVAL).
"""

from __future__ import annotations

from pathlib import Path

from tests.postgres.private import PrivateFolder

BASE_SECONDS = 7200.0
FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib")
LIBRARY = "libfaketime.so.1"
FILE = "clock"


class WrongClock:
    def __init__(self, folder: PrivateFolder) -> None:
        self._folder = folder
        self.set(0)

    def set(self, step_seconds: float) -> None:
        """How far it is off from what it said first. Nobody reads half of it."""
        if step_seconds > BASE_SECONDS:
            raise ValueError(f"it can be set forward by at most {BASE_SECONDS:.0f} s, not {step_seconds}")
        new = self._folder.write(f"{FILE}.new", f"{step_seconds - BASE_SECONDS:+.6f}")
        new.replace(self._folder.path / FILE)

    @property
    def environment(self) -> dict[str, str]:
        """Of the processes that shall go by it."""
        return {
            "LD_PRELOAD": str(library()),
            "FAKETIME_TIMESTAMP_FILE": str(self._folder.path / FILE),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DISABLE_SHM": "1",
        }


def library() -> Path:
    for folder in FOLDERS:
        for found in sorted(Path(folder).glob(f"*/faketime/{LIBRARY}")) or sorted(Path(folder).glob(f"*/{LIBRARY}")):
            return found
    raise RuntimeError("libfaketime was not found: install it with the system's package manager, as libfaketime")
