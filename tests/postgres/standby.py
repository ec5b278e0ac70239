"""A server that follows another one by streaming replication, until it is promoted."""

from __future__ import annotations

from tests.postgres import processes
from tests.postgres.binaries import programs
from tests.postgres.private import HOST
from tests.postgres.server import USER, Server

SLOT = "standby"


class Standby(Server):
    """A copy of the primary as it runs, at an address of its own, which hears of all that comes after."""

    def __init__(self, primary: Server, port: int | None = None) -> None:
        """By way of another port, if there is something between."""
        self._primary = primary
        self._through = primary.port if port is None else port
        super().__init__(primary.version)
        processes.wait_until(self.follows, "the standby has heard of all that the primary has")

    def follows(self) -> bool:
        """Whether all that the primary has committed by now is here, on disk."""
        [(upto,)] = self._primary.execute("SELECT pg_current_wal_flush_lsn()::text")
        [(here,)] = self.execute("SELECT coalesce(pg_last_wal_receive_lsn() >= %s::pg_lsn, false)", upto)
        return bool(here)

    def _init(self, encoding: str) -> None:
        where = ["-h", HOST, "-p", str(self._through), "-U", USER]
        how = ["-R", "-X", "stream", "-C", "-S", SLOT, "-c", "fast", "--no-sync"]
        self._folder.run([programs(self.version) / "pg_basebackup", "-D", self._data, *where, *how])
