"""Where the points of a curve are measured: fresh stores on a real disk, with a quick way to fill them."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import apsw
import psycopg

from benchmarks.growth_curves.jobs import Calls
from benchmarks.postgres_cells.bed import DAY_US, FILL_ROWS, Bed, progress
from penstock.bench.fresh_store import FreshStore, bench_store
from penstock.bench.jobs import ARGUMENTS, PAYLOAD, BenchApp

MIB = 2**20

# The ids count on, so that no two fills make the same job. The first lane is that of the one job enqueued before.
_JOBS = """
WITH RECURSIVE n (i) AS (SELECT :first UNION ALL SELECT i + 1 FROM n WHERE i < :last)
INSERT INTO penstock_job (seq, id, lane, priority, due_at, created_at, payload)
SELECT :top + i, printf('00000000-0000-7000-8000-%012x', i), :lane, 0, i, i, :payload FROM n
"""
_READY = """
INSERT INTO penstock_ready (lane, priority, due_at, seq)
SELECT lane, priority, due_at, seq FROM penstock_job WHERE seq BETWEEN :top + :first AND :top + :last
"""
_OUTCOMES = """
INSERT INTO penstock_outcome (seq, state, attempt, session, claimed_at, started_at, finished_at, decided_by)
SELECT seq, 1, 1, 1, at, at, at, 'worker'
FROM (
    SELECT seq, CAST(unixepoch('subsec') * 1000000 AS INTEGER) - :age + due_at AS at
    FROM penstock_job WHERE seq BETWEEN :top + :first AND :top + :last
)
"""
_LEFT = """
SELECT (SELECT count(*) FROM penstock_ready) + (SELECT count(*) FROM penstock_scheduled)
    + (SELECT count(*) FROM penstock_lease)
"""


class StoreBed(Protocol):
    """A fresh store with the benchmark's app on it."""

    address: str
    bench: BenchApp

    def fill_waiting(self, count: int) -> None:
        """Jobs that are due since long ago."""
        ...

    def fill_finished(self, count: int, age_days: int) -> None: ...

    def settle(self) -> None:
        """What the engine or the system would do about many new rows, in the middle of a measurement."""
        ...

    def left(self) -> int:
        """Jobs that have not ended."""
        ...

    def held(self) -> contextlib.AbstractContextManager[None]:
        """Within the block another connection sees the store as it was at the beginning."""
        ...

    def disk_mib(self) -> float: ...


class PostgresBed(Bed):
    """The bed of the PostgreSQL cells, and what only curves need."""

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        with psycopg.connect(self.parsed.conninfo) as holder:
            holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            holder.execute("SELECT count(*) FROM pg_class")
            yield

    def disk_mib(self) -> float:
        """All tables with their indexes; the server's log is shared."""
        found = self.value(
            "SELECT sum(pg_total_relation_size(format('%%I.%%I', schemaname, tablename)::regclass)) "
            "FROM pg_tables WHERE schemaname = %(of)s",
            of=self.parsed.schema,
        )
        return float(found) / MIB


class SqliteBed:
    """A file. Fills go past the engine, on a connection that does not sync."""

    def __init__(self, place: FreshStore, path: Path) -> None:
        self.address = place.address
        self.bench = BenchApp(place.address, "default")
        self.bench.app.store.migrate()
        self._path = path
        self._rows = 0

    def close(self) -> None:
        self.bench.app.close()

    def fill_waiting(self, count: int) -> None:
        self._fill(_READY, count, 0)

    def fill_finished(self, count: int, age_days: int) -> None:
        self._fill(_OUTCOMES, count, age_days * DAY_US)

    def _fill(self, pointers: str, count: int, age: int) -> None:
        with contextlib.closing(apsw.Connection(str(self._path))) as db:
            db.set_busy_timeout(10_000)
            db.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")
            values: dict[str, int | str] = {"lane": self._lane(db), "payload": PAYLOAD, "age": age}
            for begun in range(0, count, FILL_ROWS):
                first, self._rows = self._rows + 1, self._rows + min(FILL_ROWS, count - begun)
                self._fill_page(db, pointers, {**values, "first": first, "last": self._rows})
                if count > FILL_ROWS:
                    progress(f"filled {self._rows:,}")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        self.settle()

    def _lane(self, db: apsw.Connection) -> int:
        """The one of the benchmark's type; at first a job is enqueued, so that there is one."""
        if not db.execute("SELECT 1 FROM penstock_lane").fetchall():
            self.bench.noop.enqueue(*ARGUMENTS)
        lane: int = db.execute("SELECT min(lane) FROM penstock_lane").get
        return lane

    def _fill_page(self, db: apsw.Connection, pointers: str, values: dict[str, int | str]) -> None:
        top: int = db.execute("SELECT coalesce(max(seq), 0) - ? + 1 FROM penstock_job", (values["first"],)).get
        with db:
            for statement in (_JOBS, pointers):
                db.execute(statement, {**values, "top": top}).fetchall()

    def settle(self) -> None:
        """What was written before must not be written back while something is measured."""
        os.sync()

    def left(self) -> int:
        with contextlib.closing(apsw.Connection(str(self._path))) as db:
            found: int = db.execute(_LEFT).get
        return found

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        with contextlib.closing(apsw.Connection(str(self._path))) as db:
            db.execute("BEGIN")
            db.execute("SELECT count(*) FROM penstock_job").fetchall()
            yield

    def disk_mib(self) -> float:
        """The file and its log."""
        names = (self._path, self._path.with_name(f"{self._path.name}-wal"))
        return sum(name.stat().st_size for name in names if name.exists()) / MIB


@contextlib.contextmanager
def sqlite_bed(folder: Path) -> Iterator[StoreBed]:
    path = folder / f"growth-{secrets.token_hex(4)}.db"
    with bench_store(f"sqlite:///{path}") as place, contextlib.closing(SqliteBed(place, path)) as bed:
        yield bed


@contextlib.contextmanager
def postgres_bed(address: str) -> Iterator[StoreBed]:
    with bench_store(address) as place, contextlib.closing(PostgresBed(place)) as bed:
        yield bed


def enqueue(bed: StoreBed, calls: Calls) -> None:
    bed.bench.app.enqueue_many(calls)
