"""A temporary folder in which private servers live and work, and which never outlives the test process.

PostgreSQL and pgbouncer refuse to run as root. Where the tests run as root, the folder and all processes in it belong
to an unprivileged user instead.
"""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

NOBODY = 65534
WATCHER = Path(__file__).with_name("watcher.py")
HOST = "127.0.0.1"
# Below the ports that systems give to outgoing connections: nobody takes a port while its server is being restarted.
PORTS = range(15_000, 32_000)


class PrivateFolder:
    """Made at once; `close` ends what still runs in it and removes it, and so does the end of this process."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="penstock-", dir=_parent())).resolve()
        self.user, self.group = (NOBODY, NOBODY) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        self._made_by = os.getpid()
        self.own(self.path)
        self._watcher = subprocess.Popen(
            [sys.executable, "-I", "-S", str(WATCHER), str(self.path), str(self.user), str(self.group)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # An interrupt from the keyboard is for the tests.
        )

    @property
    def is_mine(self) -> bool:
        """A forked copy of the test process may not end what is not its own."""
        return self._made_by == os.getpid()

    def close(self) -> None:
        if not self.is_mine or self._watcher.returncode is not None:
            return
        assert self._watcher.stdin
        self._watcher.stdin.close()
        if self._watcher.wait(60) != 0:
            raise RuntimeError(f"the watcher of {self.path} failed: see its error above and remove the folder by hand")
        if self.path.exists():  # It is empty, and only we may remove it from where it is.
            self.path.rmdir()

    def own(self, path: Path) -> None:
        """Give a file or folder to the user that the processes run as."""
        if os.geteuid() == 0:
            os.chown(path, self.user, self.group)

    def write(self, name: str, text: str) -> Path:
        path = self.path / name
        path.write_text(text, encoding="utf-8")
        self.own(path)
        return path

    def run(self, command: Sequence[str | Path]) -> str:
        """Run a program to its end, as the user of this folder and in it, and answer what it wrote."""
        process = self.start(command, self.path / "run.log")
        try:
            process.wait(120)
        finally:
            process.kill()
            process.wait()
        output = (self.path / "run.log").read_text(encoding="utf-8", errors="replace")
        if process.returncode != 0:
            raise RuntimeError(f"{command[0]} failed with {process.returncode}:\n{output}")
        return output

    def start(
        self, command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a program as the user of this folder and in it. Its output goes to the log."""
        root = os.geteuid() == 0
        with log.open("wb") as output:
            return subprocess.Popen(
                [str(word) for word in command],
                cwd=self.path,
                env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=self.user if root else None,
                group=self.group if root else None,
                extra_groups=() if root else None,
            )


def free_port() -> int:
    """A port of this machine on which nothing listens right now."""
    for port in random.sample(PORTS, 100):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"of 100 ports between {PORTS.start} and {PORTS.stop} none is free: end what holds them")


def open_to_all(path: Path) -> bool:
    """Whether every user of this machine may reach and read it."""
    return bool(path.stat().st_mode & 0o004) and all(parent.stat().st_mode & 0o001 for parent in path.parents)


def _parent() -> Path:
    usual = Path(tempfile.gettempdir()).resolve()
    return usual if os.geteuid() != 0 or open_to_all(usual) else Path("/tmp")
