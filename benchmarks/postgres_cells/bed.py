"""Where a cell works: a schema of its own with an app on it, filled by the server itself, dropped at the end."""

from __future__ import annotations

import contextlib
import json
import math
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import psycopg
from psycopg import errors, sql

from penstock.bench.fresh_store import FreshStore, bench_store
from penstock.bench.jobs import ARGUMENTS, PAYLOAD, BenchApp
from penstock.bench.raw_postgres import RawPostgres
from penstock.bench.workers import children, drain_seconds
from penstock.store.contract import History
from penstock.store.postgres.connection.address import parse

FILL_ROWS = 500_000
DAY_US = 86_400_000_000

# The ids count on, so that no two fills of a bed make the same job.
_NEW_JOBS = """
WITH new AS (
    INSERT INTO {schema}.job (id, lane, due_at, created_at, payload)
    SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
        (%(lanes)s::integer[])[1 + n %% cardinality(%(lanes)s::integer[])], n, n, %(payload)s::text
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n
    RETURNING id, lane, due_at
)
"""
_WAITING = _NEW_JOBS + "INSERT INTO {schema}.waiting (lane, due_at, id) SELECT lane, due_at, id FROM new"
_OUTCOMES = """
INSERT INTO {schema}.outcome (id, state, attempt, session, claimed_at, started_at, finished_at, decided_by)
SELECT id, 1, 1, 1, at, at, at, 'worker'
FROM new CROSS JOIN LATERAL (SELECT {schema}.moment(NULL) - %(age)s::bigint + due_at AS at) AS ended
"""
_FINISHED = _NEW_JOBS + _OUTCOMES

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """Where the server is, and whether this is only a trial of the script."""

    address: str
    small: bool

    def size(self, full: T, small: T) -> T:
        return small if self.small else full


class Bed:
    """A fresh schema. `db` is a connection of the benchmark's own that commits each statement."""

    def __init__(self, place: FreshStore) -> None:
        self.place = place
        self.address = place.address
        self.parsed = parse(place.address)
        self.bench = BenchApp(place.address, "default")
        self.db = psycopg.connect(self.parsed.conninfo, autocommit=True)
        self.rows = 0
        self.bench.app.store.migrate()

    def close(self) -> None:
        self.bench.app.close()
        self.db.close()

    def execute(self, text: Any, **parameters: Any) -> list[tuple[Any, ...]]:
        statement = sql.SQL(text).format(schema=sql.Identifier(self.parsed.schema))
        cursor = self.db.execute(statement, parameters or None)
        return cursor.fetchall() if cursor.description else []

    def value(self, text: Any, **parameters: Any) -> Any:
        return self.execute(text, **parameters)[0][0]

    # Filling

    def lanes(self) -> list[int]:
        """Of all types that had a job; at first one is enqueued, so that there is one."""
        if not self.execute("SELECT 1 FROM {schema}.lane LIMIT 1"):
            self.bench.noop.enqueue(*ARGUMENTS)
        return [lane for (lane,) in self.execute("SELECT lane FROM {schema}.lane ORDER BY lane")]

    def fill_waiting(self, count: int) -> None:
        """Jobs that are due since long ago, in turn over the lanes."""
        self._fill(_WAITING, count, {"lanes": self.lanes()})

    def fill_finished(self, count: int, age_days: int) -> None:
        self._fill(_FINISHED, count, {"lanes": self.lanes(), "age": age_days * DAY_US})

    def _fill(self, text: str, count: int, parameters: dict[str, Any]) -> None:
        for begun in range(0, count, FILL_ROWS):
            first, self.rows = self.rows + 1, self.rows + min(FILL_ROWS, count - begun)
            self.execute(text, first=first, last=self.rows, payload=PAYLOAD, **parameters)
            if count > FILL_ROWS:
                progress(f"filled {self.rows:,}")
        self.settle()

    def settle(self) -> None:
        """What autovacuum and the checkpointer would do about it sooner or later, in the middle of a measurement."""
        tables = self.execute("SELECT tablename FROM pg_tables WHERE schemaname = %(of)s", of=self.parsed.schema)
        for (table,) in tables:
            self.db.execute(sql.SQL("VACUUM ANALYZE {}").format(sql.Identifier(self.parsed.schema, table)))
        with contextlib.suppress(errors.InsufficientPrivilege):
            self.db.execute("CHECKPOINT")

    # Draining

    def enqueue(self, count: int) -> None:
        self.bench.app.enqueue_many(self.bench.noop.bind(*ARGUMENTS) for _ in range(count))

    def drained_per_s(self, count: int, history: History = "default", processes: int = 1) -> float:
        """New jobs through worker processes that start with them waiting."""
        self.enqueue(count)
        self.place.settle()
        with children(self.address, history, processes, "burst") as started:
            seconds = drain_seconds(started)
        self.expect_empty()
        return count / seconds

    def left(self) -> int:
        """Jobs that have not ended."""
        waiting: int = self.value("SELECT count(*) FROM {schema}.waiting")
        leased: int = self.value("SELECT count(*) FROM {schema}.lease")
        return waiting + leased

    def expect_empty(self) -> None:
        if left := self.left():
            raise SystemExit(f"{left} jobs were left over: the figures of this cell would mean nothing")

    def wal_bytes(self) -> int:
        """All that the server has ever written to its log, by whomever."""
        return int(self.value("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))

    def bare(self) -> RawPostgres:
        return RawPostgres(self.parsed, self.parsed.schema)


@contextlib.contextmanager
def new_bed(run: Run) -> Iterator[Bed]:
    with bench_store(run.address) as place, contextlib.closing(Bed(place)) as bed:
        yield bed


# What was found


def report(cell: str, readable: str, **figures: Any) -> None:
    """One JSON line for machines, and one for people."""
    print(json.dumps({"cell": cell, **figures}), flush=True)
    print(f"{cell}: {readable}", file=sys.stderr, flush=True)


def progress(what: str) -> None:
    print(f"  … {what}", file=sys.stderr, flush=True)


def median(values: Sequence[float]) -> float:
    return round(statistics.median(values), 3)


def ratio(one: float, other: float) -> float:
    return round(one / other, 2) if other else math.nan


def spread(times_ms: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times_ms)
    return {"p50_ms": round(statistics.median(ordered), 2), "p99_ms": round(_at(ordered, 0.99), 2)}


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
