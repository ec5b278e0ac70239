"""A private PostgreSQL server: a folder, a port of this machine and a process of its own.

`shared(version)` is the one that tests use together, each in a schema of its own. A test that stops, kills, suspends
or fills a server takes one for itself: `with Server(18) as server: …` costs about a second.
"""

from __future__ import annotations

import atexit
import contextlib
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlencode

import psycopg

from tests.postgres import processes
from tests.postgres.binaries import Version, programs
from tests.postgres.private import HOST, PrivateFolder, free_port
from tests.postgres.wrong_clock import WrongClock

USER = "postgres"
START_SECONDS = 60.0
PORTS_TRIED = 5
Mode = Literal["smart", "fast", "immediate"]
SIGNALS: dict[Mode, signal.Signals] = {
    "smart": signal.SIGTERM,
    "fast": signal.SIGINT,
    "immediate": signal.SIGQUIT,
}
DEFAULTS = {
    # No test pulls the plug of the machine, and a killed process loses nothing that it wrote.
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "100",
    # In the folder, so that it goes with it also after a kill.
    "dynamic_shared_memory_type": "mmap",
}


class Server:
    """Runs as soon as it is made, with the superuser `postgres` and no password. `close` removes all of it."""

    def __init__(
        self,
        version: Version,
        *,
        encoding: str = "UTF8",
        settings: Mapping[str, str] | None = None,
        wrong_clock: bool = False,
    ) -> None:
        """With a wrong clock it goes by one that `set_clock` sets."""
        self.version = version
        self.settings = {**DEFAULTS, **(settings or {})}
        self.port = free_port()
        self._folder = PrivateFolder()
        self._clock = WrongClock(self._folder) if wrong_clock else None
        self._data = self._folder.path / "data"
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._init(encoding)
            self._start_on_a_free_port()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Where it is

    @property
    def folder(self) -> PrivateFolder:
        """Holds its data, its log and its Unix socket."""
        return self._folder

    @property
    def pid(self) -> int:
        """Of the postmaster."""
        if self._process is None:
            raise RuntimeError("the server does not run: call start()")
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it was started and neither stopped nor killed since."""
        return self._process is not None

    @property
    def log(self) -> str:
        """What it wrote since its last start."""
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    @property
    def log_path(self) -> Path:
        return self._folder.path / "server.log"

    def url(self, database: str = "postgres", *, user: str = USER, **options: str) -> str:
        """Its address, with options of the query such as schema=…"""
        query = f"?{urlencode(options)}" if options else ""
        return f"postgresql://{user}@{HOST}:{self.port}/{database}{query}"

    def socket_url(self, database: str = "postgres", *, user: str = USER, **options: str) -> str:
        """Its address on the Unix socket."""
        place = {"host": str(self._folder.path), "port": str(self.port), "user": user}
        return f"postgresql:///{database}?{urlencode({**place, **options})}"

    def connect(self, database: str = "postgres", **options: Any) -> psycopg.Connection[tuple[Any, ...]]:
        """A connection of the superuser that commits each statement."""
        return psycopg.connect(self.url(database), **{"autocommit": True, "connect_timeout": 10, **options})

    def execute(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Run one statement on a connection of its own. One that waits for a lock that is never freed fails."""
        with self.connect(options="-c lock_timeout=30s") as connection:
            cursor = connection.execute(sql.encode(), parameters or None)
            return cursor.fetchall() if cursor.description else []

    # Its life

    def start(self) -> None:
        """Start and wait until it accepts connections."""
        settings = [word for key, value in self.settings.items() for word in ("-c", f"{key}={value}")]
        where: list[str | Path] = ["-D", self._data, "-h", HOST, "-p", str(self.port), "-k", self._folder.path]
        command = [programs(self.version) / "postgres", *where, *settings]
        environment = self._clock.environment if self._clock else None
        self._process = self._folder.start(command, self.log_path, environment)
        try:
            processes.wait_until(self._is_ready, "PostgreSQL accepts connections", START_SECONDS)
        except BaseException:
            self._end(signal.SIGKILL)
            raise

    def stop(self, mode: Mode = "fast") -> None:
        """`smart` waits for clients to leave, `fast` sends them away, `immediate` is a crash of its own choice."""
        self._end(SIGNALS[mode])

    def restart(self, mode: Mode = "fast", settings: Mapping[str, str] | None = None) -> None:
        """Stop and start at the same address, with some settings changed."""
        self.stop(mode)
        self.settings.update(settings or {})
        self.start()

    def kill(self) -> None:
        """End all its processes without a word to them or to clients."""
        if self._process is None:
            return
        family = self._stopped_family()
        processes.send_all(family, signal.SIGKILL)
        self._process.wait(30)
        self._process = None
        processes.wait_until(lambda: not any(map(processes.lives, family)), "all processes of the server are gone")

    @contextlib.contextmanager
    def suspended(self) -> Iterator[None]:
        """Within the block the server is there, and connections to it stay open, but it does not answer."""
        family = self._stopped_family()
        try:
            yield
        finally:
            processes.send_all(family, signal.SIGCONT)

    def demote(self) -> None:
        """Restart as a standby: it can be read from and refuses to write, as after a failover to the wrong side."""
        self.stop()
        self._folder.write("data/standby.signal", "")
        self.start()

    def promote(self) -> None:
        """Make a standby take writes again."""
        self.execute("SELECT pg_promote(true)")

    def set_clock(self, step_seconds: float) -> None:
        """Put it forward (or back, below zero) from what it said first."""
        if self._clock is None:
            raise RuntimeError("this server goes by the clock of the machine: start it with wrong_clock=True")
        self._clock.set(step_seconds)

    def close(self) -> None:
        """End it and remove its folder. May be called again."""
        if not self._folder.is_mine:
            return
        try:
            self._end(signal.SIGQUIT)
        finally:
            self._folder.close()

    # How

    def _init(self, encoding: str) -> None:
        choices = ["-U", USER, "--auth=trust", "-E", encoding, "--locale=C", "--no-sync"]
        self._folder.run([programs(self.version) / "initdb", "-D", self._data, *choices])

    def _start_on_a_free_port(self) -> None:
        """Somebody may take the port between our look at it and the start."""
        for _ in range(PORTS_TRIED - 1):
            try:
                return self.start()
            except RuntimeError:
                if "Address already in use" not in self.log:
                    raise
                self.port = free_port()
        return self.start()

    def _is_ready(self) -> bool:
        """It says so in the eighth line of its file, which may be left from an earlier process."""
        assert self._process
        if self._process.poll() is not None:
            raise RuntimeError(f"PostgreSQL {self.version} ended while it started:\n{self.log}")
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) > 7 and lines[0] == str(self._process.pid) and lines[7].strip() == "ready"

    def _stopped_family(self) -> list[int]:
        """Suspend the postmaster, so that it starts no more children, and then all of them."""
        processes.suspend_all([self.pid])
        family = [self.pid, *processes.children(self.pid)]
        processes.suspend_all(family)
        return family

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        try:
            self._process.send_signal(number)
            self._process.wait(60)
        except BaseException:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            self._process = None


_shared: dict[Version, Server] = {}
_sharing = threading.Lock()


def shared(version: Version) -> Server:
    """The server of this version for all tests of this run, started when first asked for. Never stop this one."""
    with _sharing:
        if version not in _shared:
            _shared[version] = Server(version)
            atexit.register(_shared[version].close)
        return _shared[version]
