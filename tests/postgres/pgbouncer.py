"""A private pgbouncer before a private server: what sits between many clients and PostgreSQL in production.

In transaction mode every transaction of a client may run on another connection of the server: nothing that lives in a
session survives, such as LISTEN, prepared statements, SET and advisory locks.
"""

from __future__ import annotations

import itertools
import os
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlencode

from tests.postgres import processes
from tests.postgres.private import HOST, free_port
from tests.postgres.server import USER, Server

ADMIN = "admin"
_numbers = itertools.count()


class PgBouncer:
    """Runs as soon as it is made. `close` ends it; it also ends with the folder of its server."""

    def __init__(self, server: Server, *, settings: Mapping[str, str] | None = None) -> None:
        self.port = free_port()
        self._name = f"pgbouncer-{next(_numbers)}"
        self._folder = server.folder
        self._folder.write(f"{self._name}.users", f'"{USER}" ""\n"{ADMIN}" ""\n')
        config = self._folder.write(f"{self._name}.ini", self._config(server.port, settings or {}))
        self._process = self._folder.start([program(), config], self._log)
        try:
            processes.wait_until(self._is_ready, "pgbouncer accepts connections", 30)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def url(self, database: str = "postgres", *, user: str = USER, **options: str) -> str:
        """The address of the server's databases by way of the pooler; `pgbouncer` as `admin` is its own console."""
        query = f"?{urlencode(options)}" if options else ""
        return f"postgresql://{user}@{HOST}:{self.port}/{database}{query}"

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """End it at once; its clients lose their connections. May be called again."""
        if self._folder.is_mine:
            self._process.kill()
            self._process.wait()

    @property
    def _log(self) -> Path:
        return self._folder.path / f"{self._name}.log"

    def _config(self, server_port: int, settings: Mapping[str, str]) -> str:
        pooler = {
            "listen_addr": HOST,
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "trust",
            "auth_file": str(self._folder.path / f"{self._name}.users"),
            "admin_users": ADMIN,
            "pool_mode": "transaction",
            "default_pool_size": "10",
            "max_client_conn": "200",
            **settings,
        }
        lines = [f"{key} = {value}" for key, value in pooler.items()]
        return "\n".join(["[databases]", f"* = host={HOST} port={server_port}", "[pgbouncer]", *lines, ""])

    def _is_ready(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"pgbouncer ended while it started:\n{self.log}")
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0


def program() -> str:
    """Debian keeps it where only root looks for programs."""
    found = shutil.which("pgbouncer", path=os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin"]))
    if found is None:
        raise RuntimeError(
            "pgbouncer is not installed, and this test needs it: apt-get install pgbouncer (Debian, Ubuntu; "
            "`make test` does it when it runs as root) or brew install pgbouncer (macOS)"
        )
    return found
