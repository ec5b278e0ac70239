"""Where a benchmark writes: a new store of its own, removed afterwards. One small protocol hides which engine it is."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from penstock.bench.machine import disk_flush_ms
from penstock.domain.errors import ConfigError
from penstock.engines import SqliteAddress, parse_address
from penstock.store.disk import IN_MEMORY, file_system


class Bare(Protocol):
    """The bare driver on the same disk or server: what a job store could reach if it did nothing but move rows."""

    def insert_single(self, count: int) -> tuple[float, float]:
        """Rows per second, each committed before the next: from plain and from async code."""
        ...

    def insert_concurrent(self, callers: int, each: int) -> float | None:
        """The same by callers at once, each with a connection; None where there is only one writer."""
        ...

    def insert_bulk(self, count: int) -> float:
        """Rows per second in one transaction."""
        ...

    def cycle(self, count: int, batch: int) -> float:
        """Rows per second that are claimed and completed in batches, two transactions each."""
        ...

    def pickup_ms(self, count: int) -> list[float]:
        """From the insert of a row to its claim by a second connection that waits for it."""
        ...

    def close(self) -> None: ...


class FreshStore(Protocol):
    """A fresh store. `address` is the whole one, secrets included."""

    address: str

    def settings(self) -> dict[str, Any]:
        """What of this place the figures depend on."""
        ...

    def notes(self, settings: dict[str, Any]) -> list[str]:
        """What a reader of the figures must know of these settings, such as that they are not safe."""
        ...

    def settle(self) -> None:
        """Before a drain: what the engine itself would do about many new rows, were there a minute of quiet."""
        ...

    def bare(self) -> Bare: ...

    def remove(self) -> None: ...


@contextmanager
def bench_store(address: str | None) -> Iterator[FreshStore]:
    """A fresh store, removed at the end. Without an address it is a file in the current folder."""
    place = _made(address or f"sqlite:///penstock-bench-{secrets.token_hex(4)}.db")
    try:
        yield place
    finally:
        place.remove()


def _made(address: str) -> FreshStore:
    parsed = parse_address(address)
    if isinstance(parsed, SqliteAddress):
        return FreshSqlite(parsed)
    from penstock.bench.fresh_postgres import FreshPostgres

    return FreshPostgres(parsed)


class FreshSqlite:
    """A file that does not exist yet, on a real disk."""

    def __init__(self, parsed: SqliteAddress) -> None:
        path = os.path.abspath(parsed.path)
        if os.path.exists(path):
            raise ConfigError(
                f"{path} exists: a benchmark needs a store of its own; name a file that does not exist yet"
            )
        self._folder = os.path.realpath(os.path.dirname(path))
        self._kind = file_system(self._folder)
        if self._kind in IN_MEMORY:
            raise ConfigError(
                f"{path} is on {self._kind}, in memory, where syncs cost nothing: name a file on a real disk, as in "
                "--store sqlite:////var/lib/app/bench.db"
            )
        self.address = parsed.shown
        self._path = path
        self._synchronous = parsed.synchronous

    def settings(self) -> dict[str, Any]:
        return {"file_system": self._kind or "unknown", "disk_flush_ms": disk_flush_ms(self._folder)}

    def notes(self, settings: dict[str, Any]) -> list[str]:
        if self._synchronous == "full":
            return []
        return [
            "less safe, so not comparable with full sync: leave ?synchronous= out of the address for figures that are"
        ]

    def settle(self) -> None:
        """SQLite does nothing by itself."""

    def bare(self) -> Bare:
        from penstock.bench.raw import RawSqlite

        return RawSqlite(self._path, self._synchronous)

    def remove(self) -> None:
        for name in (self._path, f"{self._path}-wal", f"{self._path}-shm", f"{self._path}-lock"):
            if os.path.exists(name):
                os.remove(name)
