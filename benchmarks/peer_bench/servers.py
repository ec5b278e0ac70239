"""The private servers of a run, on a real disk: PostgreSQL from the package that the tests use too, and Redis.

They listen on this machine only, belong to an unprivileged user where the run is root's, and go with their data when
the run ends, however it ends.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from penstock.store.disk import IN_MEMORY, file_system
from tests.postgres.private import HOST, PrivateFolder, free_port, open_to_all
from tests.postgres.processes import wait_until
from tests.postgres.server import Server

DATABASE = "contest"
REDIS_PROGRAMS = ("redis-server", "valkey-server")
REDIS_SECONDS_MAX = 30.0
SETTINGS = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
}


class NoPlace(Exception):
    """No folder in which figures would mean something."""


def real_disk(candidates: Sequence[Path]) -> Path:
    """The first of these folders that is on a disk and that servers may reach; it is made if it is not there."""
    refused = []
    for folder in candidates:
        if reason := _refusal(folder):
            refused.append(f"{folder} {reason}")
        else:
            return folder.resolve()
    raise NoPlace(f"{'; '.join(refused)}: name a folder on a real disk, as in DATA=/var/tmp")


def _refusal(folder: Path) -> str | None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"cannot be made ({error.strerror})"
    kind = file_system(str(folder.resolve()))
    if kind in IN_MEMORY:
        return f"is on {kind}, in memory, where syncs cost nothing"
    if os.geteuid() == 0 and not open_to_all(folder.resolve()):
        return "is closed to the user that servers run as, since they may not be root"
    return None


class Redis:
    """A Redis that keeps nothing. `program` is found with `redis_program`."""

    def __init__(self, program: str) -> None:
        self.port = free_port()
        self._folder = PrivateFolder()
        place = ["--port", str(self.port), "--bind", HOST, "--dir", str(self._folder.path)]
        keeps_nothing = ["--appendonly", "no", "--save", ""]
        try:
            self._process = self._folder.start([program, *place, *keeps_nothing], self._folder.path / "redis.log")
            wait_until(self._answers, "Redis accepts connections", REDIS_SECONDS_MAX)
        except BaseException:
            self._folder.close()
            raise

    @property
    def url(self) -> str:
        return f"redis://{HOST}:{self.port}/0"

    @property
    def version(self) -> str:
        lines = self._ask(b"INFO server").decode().splitlines()
        return next(line.partition(":")[2] for line in lines if line.startswith("redis_version:"))

    def empty(self) -> None:
        self._ask(b"FLUSHALL")

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        finally:
            self._folder.close()

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"Redis ended while it started:\n{(self._folder.path / 'redis.log').read_text()}")
        try:
            return self._ask(b"PING") == b"+PONG\r\n"
        except OSError:
            return False

    def _ask(self, words: bytes) -> bytes:
        """One command, and its answer."""
        with socket.create_connection((HOST, self.port), timeout=10) as connection:
            connection.sendall(words + b"\r\n")
            return connection.recv(65536)


def redis_program() -> str | None:
    return next((found for name in REDIS_PROGRAMS if (found := shutil.which(name))), None)


class Servers:
    """What the contestants work on. `data` is the folder for the files of those without a server."""

    def __init__(self, place: Path, with_redis: bool) -> None:
        tempfile.tempdir = str(place)  # Servers make their folders there.
        self.folder = Path(tempfile.mkdtemp(prefix="penstock-peers-"))
        self.data = self.folder / "data"
        self.redis: Redis | None = None
        self.postgres: Server | None = None
        try:
            self.postgres = Server(18, settings=SETTINGS)
            program = redis_program() if with_redis else None
            self.redis = Redis(program) if program else None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        try:
            if self.redis:
                self.redis.close()
        finally:
            try:
                if self.postgres:
                    self.postgres.close()
            finally:
                shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def addresses(self) -> dict[str, str]:
        """For the environment of contestants."""
        return {
            "CONTEST_POSTGRES": self._server.url(DATABASE),
            "CONTEST_REDIS": self.redis.url if self.redis else "",
            "CONTEST_DATA": str(self.data),
        }

    @property
    def versions(self) -> dict[str, str]:
        found = {"PostgreSQL": str(self._server.execute("SHOW server_version")[0][0])}
        return found | ({"Redis": self.redis.version} if self.redis else {})

    @property
    def settings(self) -> dict[str, str]:
        return {name: str(self._server.execute(f"SHOW {name}")[0][0]) for name in SETTINGS}

    def empty(self) -> None:
        """Nothing is left of whoever worked here before."""
        with self._server.connect() as db:
            db.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)".encode())
            db.execute(f"CREATE DATABASE {DATABASE}".encode())
        if self.redis:
            self.redis.empty()
        shutil.rmtree(self.data, ignore_errors=True)
        self.data.mkdir()

    def settle(self) -> None:
        """What autovacuum and the checkpointer would do about many new rows, in the middle of a measurement."""
        with self._server.connect(DATABASE) as db:
            db.execute("VACUUM ANALYZE")
            db.execute("CHECKPOINT")

    @property
    def _server(self) -> Server:
        assert self.postgres
        return self.postgres
