"""The storage designs for PostgreSQL in raw SQL, against each other: python benchmarks/storage.py ADDRESS.

A keeps a body that is written once and moves a narrow pointer; B keeps one live row that is updated at the claim and
moved at the finish; M moves a pointer and moves the body at the finish. All keep what a reader must see of an ended
job, fence by token, and claim past a cursor. `feed` adds the index of inserting transactions that finds late commits.
Prints one JSON line per cell. What came of it is in docs/decisions/0011-postgres-storage.md.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
import uuid
from typing import Any

import psycopg

NOW = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"
BODY = "lane int, due_at bigint, created_at bigint, attempt smallint, crashes smallint, payload text, policy text"
LEASE = "session bigint, claimed_at bigint, started_at bigint, progress text"
BODY_NAMES = "lane, due_at, created_at, attempt, crashes, payload, policy"

SCHEMA = {
    "A": f"""
        CREATE TABLE job (id uuid PRIMARY KEY, {BODY});
        CREATE TABLE waiting (lane int, due_at bigint, id uuid, xid xid8 DEFAULT pg_current_xact_id(),
            PRIMARY KEY (lane, due_at, id));
        CREATE TABLE lease (token bigint PRIMARY KEY, id uuid UNIQUE, attempt smallint, {LEASE});
        CREATE TABLE outcome (id uuid PRIMARY KEY, state smallint, attempt smallint, {LEASE}, finished_at bigint);
        CREATE SEQUENCE token;
    """,
    "B": f"""
        CREATE TABLE live (id uuid PRIMARY KEY, {BODY}, xid xid8 DEFAULT pg_current_xact_id(), token bigint, {LEASE});
        CREATE INDEX live_claim ON live (lane, due_at, id) WHERE token IS NULL;
        CREATE INDEX live_token ON live (token) WHERE token IS NOT NULL;
        CREATE TABLE outcome (id uuid PRIMARY KEY, {BODY}, state smallint, {LEASE}, finished_at bigint);
        CREATE SEQUENCE token;
    """,
}
SCHEMA["M"] = SCHEMA["A"].replace("outcome (id uuid PRIMARY KEY, state smallint, attempt smallint,",
                                  f"outcome (id uuid PRIMARY KEY, {BODY}, state smallint,")  # fmt: skip
FEED = {"A": "CREATE INDEX ON waiting (xid)", "B": "CREATE INDEX ON live (xid) WHERE token IS NULL"}
FEED["M"] = FEED["A"]
INSERT = {
    "A": f"""
        WITH new AS (INSERT INTO job SELECT id, lane, {NOW}, {NOW}, 0, 0, payload, NULL
            FROM unnest(%(ids)s::uuid[], %(lanes)s::int[], %(payloads)s::text[]) AS row (id, lane, payload)
            ON CONFLICT (id) DO NOTHING RETURNING lane, due_at, id)
        INSERT INTO waiting SELECT * FROM new""",
    "B": f"""
        INSERT INTO live SELECT id, lane, {NOW}, {NOW}, 0, 0, payload, NULL
        FROM unnest(%(ids)s::uuid[], %(lanes)s::int[], %(payloads)s::text[]) AS row (id, lane, payload)
        ON CONFLICT (id) DO NOTHING""",
}
INSERT["M"] = INSERT["A"]


def _picked(table: str, only: str) -> str:
    """The first in order over the lanes, each past its cursor: how many of each is found, then they are locked."""
    return f"""
        want AS (SELECT * FROM unnest(%(lanes)s::int[], %(dues)s::bigint[], %(after)s::uuid[]) AS w (lane, due_at, id)),
        quota AS MATERIALIZED (SELECT lane, count(*) AS jobs FROM (
            SELECT t.lane FROM want CROSS JOIN LATERAL (SELECT lane, due_at, id FROM {table} AS t
                WHERE t.lane = want.lane AND (t.due_at, t.id) > (want.due_at, want.id) {only}
                ORDER BY t.due_at, t.id LIMIT %(limit)s) AS t ORDER BY t.due_at, t.id LIMIT %(limit)s) AS best
            GROUP BY lane),
        picked AS MATERIALIZED (SELECT t.* FROM want JOIN quota USING (lane) CROSS JOIN LATERAL (
            SELECT ctid AS at, lane, due_at, id FROM {table} AS t
            WHERE t.lane = want.lane AND (t.due_at, t.id) > (want.due_at, want.id) {only}
            ORDER BY t.due_at, t.id LIMIT quota.jobs FOR UPDATE SKIP LOCKED) AS t)"""


def _picked_one(table: str, only: str) -> str:
    return f"""
        picked AS MATERIALIZED (SELECT ctid AS at, lane, due_at, id FROM {table} AS t
            WHERE t.lane = (%(lanes)s::int[])[1]
                AND (t.due_at, t.id) > ((%(dues)s::bigint[])[1], (%(after)s::uuid[])[1]) {only}
            ORDER BY t.due_at, t.id LIMIT %(limit)s FOR UPDATE SKIP LOCKED)"""


def claim(design: str, lanes: int) -> str:
    pick = _picked if lanes > 1 else _picked_one
    if design == "B":
        return f"""
            WITH {pick("live", "AND token IS NULL")}
            UPDATE live AS l SET token = nextval('token'), attempt = l.attempt + 1, session = 7, claimed_at = {NOW}
            WHERE l.ctid = ANY (ARRAY (SELECT at FROM picked))
            RETURNING l.token, l.lane, l.due_at, l.id, l.attempt, l.payload"""
    return f"""
        WITH {pick("waiting", "")},
        taken AS MATERIALIZED (SELECT nextval('token') AS token, picked.*, job.attempt + 1 AS attempt, job.payload
            FROM picked CROSS JOIN LATERAL (SELECT attempt, payload FROM job WHERE job.id = picked.id LIMIT 1) AS job),
        gone AS (DELETE FROM waiting WHERE ctid = ANY (ARRAY (SELECT at FROM picked))),
        held AS (INSERT INTO lease SELECT token, id, attempt, 7, {NOW}, NULL, NULL FROM taken)
        SELECT token, lane, due_at, id, attempt, payload FROM taken"""


def _done(table: str) -> str:
    return f"""
        done AS MATERIALIZED (SELECT l.* FROM unnest(%(tokens)s::bigint[]) AS d (token) CROSS JOIN LATERAL (
            SELECT ctid AS at, * FROM {table} AS l WHERE l.token = d.token AND session = 7 LIMIT 1 FOR UPDATE) AS l),
        gone AS (DELETE FROM {table} WHERE ctid = ANY (ARRAY (SELECT at FROM done)))"""


FINISH = {
    "A": f"""
        WITH {_done("lease")}
        INSERT INTO outcome SELECT id, 1, attempt, session, claimed_at, started_at, progress, {NOW} FROM done""",
    "B": f"""
        WITH {_done("live")}
        INSERT INTO outcome SELECT id, {BODY_NAMES}, 1, session, claimed_at, started_at, progress, {NOW} FROM done""",
    "M": f"""
        WITH {_done("lease")},
        body AS (DELETE FROM job WHERE id = ANY (ARRAY (SELECT id FROM done)) RETURNING *)
        INSERT INTO outcome SELECT id, {BODY_NAMES}, 1, 7, {NOW}, {NOW}, NULL, {NOW} FROM body""",
}
ZERO = uuid.UUID(int=0)
_count = int(time.time() * 1000) << 80


def ids(count: int) -> list[uuid.UUID]:
    """Growing, as those of clients are."""
    global _count
    first, _count = _count, _count + (count << 20)
    return [uuid.UUID(int=first + (n << 20)) for n in range(count)]


class Psycopg:
    def __init__(self, address: str) -> None:
        self.db = psycopg.connect(address, autocommit=True, prepare_threshold=0)

    def run(self, sql: str, bindings: dict[str, Any]) -> list[Any]:
        cursor = self.db.execute(sql, bindings, binary=True, prepare=True)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        self.db.close()


class Asyncpg:
    """The same through asyncpg, with its numbered parameters."""

    def __init__(self, address: str) -> None:
        import asyncpg

        self.loop = asyncio.new_event_loop()
        self.db = self.loop.run_until_complete(asyncpg.connect(address))
        self.known: dict[str, tuple[Any, list[str]]] = {}

    def run(self, sql: str, bindings: dict[str, Any]) -> list[Any]:
        if sql not in self.known:
            names = list(bindings)
            text = sql
            for number, name in enumerate(names, 1):
                text = text.replace(f"%({name})s", f"${number}")
            self.known[sql] = self.loop.run_until_complete(self.db.prepare(text)), names
        statement, names = self.known[sql]
        rows: list[Any] = self.loop.run_until_complete(statement.fetch(*(bindings[name] for name in names)))
        return rows

    def close(self) -> None:
        self.loop.run_until_complete(self.db.close())
        self.loop.close()


class Queue:
    def __init__(self, address: str, design: str, feed: bool, lanes: int, size: int, driver: type = Psycopg) -> None:
        self.design, self.lanes, self.payload = design, lanes, json.dumps({"body": "x" * (size - 12)})
        with psycopg.connect(address, autocommit=True) as db:
            db.execute("DROP SCHEMA IF EXISTS bench CASCADE; CREATE SCHEMA bench; SET search_path = bench")
            db.execute(SCHEMA[design])
            if feed:
                db.execute(FEED[design])
        self.driver = driver(address)
        self.driver.run("SET search_path = bench", {})
        self.driver.run("SET enable_seqscan = off", {})
        self.cursors = dict.fromkeys(range(lanes), (0, ZERO))
        self._claim = claim(design, lanes)

    def insert(self, count: int, batch: int = 1000) -> float:
        began = time.perf_counter()
        for first in range(0, count, batch):
            size = min(batch, count - first)
            lanes = [n % self.lanes for n in range(size)]
            bindings = {"ids": ids(size), "lanes": lanes, "payloads": [self.payload] * size}
            self.driver.run(INSERT[self.design], bindings)
        return count / (time.perf_counter() - began)

    def fill(self, count: int) -> None:
        """A backlog made by the server itself, older than what is enqueued later."""
        first, body = ids(count)[0], self.payload
        ident = f"('{first.hex[:12]}' || lpad(to_hex(n), 20, '0'))::uuid"
        target = "live" if self.design == "B" else "job"
        self.driver.run(f"""INSERT INTO {target} SELECT {ident}, n % {self.lanes}, n, n, 0, 0, %(body)s, NULL
            FROM generate_series(1, {count}) AS n""".replace(" % ", " %% "), {"body": body})  # fmt: skip
        if target == "job":
            self.driver.run("INSERT INTO waiting SELECT lane, due_at, id FROM job", {})
        self.driver.run("VACUUM ANALYZE", {})

    def cycle(self, count: int, batch: int) -> tuple[float, list[float]]:
        claims: list[float] = []
        began, done = time.perf_counter(), 0
        while done < count:
            at = time.perf_counter()
            lanes = list(self.cursors)
            rows = self.driver.run(self._claim, {
                "lanes": lanes, "dues": [self.cursors[lane][0] for lane in lanes],
                "after": [self.cursors[lane][1] for lane in lanes], "limit": min(batch, count - done),
            })  # fmt: skip
            claims.append(time.perf_counter() - at)
            if not rows:
                raise SystemExit(f"{self.design}: nothing left: the cursor has skipped a job ({done} of {count})")
            for row in rows:
                if (row[2], row[3]) > self.cursors[row[1]]:
                    self.cursors[row[1]] = (row[2], row[3])
            self.driver.run(FINISH[self.design], {"tokens": [row[0] for row in rows]})
            done += len(rows)
        return count / (time.perf_counter() - began), sorted(claims)


def report(**cell: Any) -> None:
    print(json.dumps(cell), flush=True)


def p(values: list[float], share: float) -> float:
    return round(values[min(len(values) - 1, int(len(values) * share))] * 1000, 2)


VARIANTS = [("A", False), ("A", True), ("M", True), ("B", False), ("B", True)]


def batches(address: str, driver: type, size: int, lanes: int, sizes: list[tuple[int, int]], rounds: int) -> None:
    found: dict[tuple[str, bool, int], list[float]] = {}
    bulk: dict[tuple[str, bool], list[float]] = {}
    for _ in range(rounds):
        for design, feed in VARIANTS:
            queue = Queue(address, design, feed, lanes, size, driver)
            queue.insert(2000)
            queue.cycle(2000, 500)
            bulk.setdefault((design, feed), []).append(queue.insert(sum(jobs for _, jobs in sizes)))
            queue.driver.run("ANALYZE", {})
            for batch, jobs in sizes:
                found.setdefault((design, feed, batch), []).append(queue.cycle(jobs, batch)[0])
            queue.driver.close()
    for (design, feed), rates in bulk.items():
        report(cell="bulk", driver=driver.__name__, design=design, feed=feed, bytes=size, lanes=lanes,
               per_s=round(sorted(rates)[len(rates) // 2]))  # fmt: skip
    for (design, feed, batch), rates in found.items():
        report(cell="cycle", driver=driver.__name__, design=design, feed=feed, bytes=size, lanes=lanes, batch=batch,
               per_s=round(sorted(rates)[len(rates) // 2]))  # fmt: skip


def backlog(address: str, waiting: int) -> None:
    for design, feed in (("A", True), ("B", True)):
        queue = Queue(address, design, feed, 1, 100)
        if waiting:
            queue.fill(waiting)
        else:
            queue.insert(12_000)
            queue.driver.run("VACUUM ANALYZE", {})
        for batch, jobs in ((1, 1000), (100, 10_000)):
            rate, claims = queue.cycle(jobs, batch)
            report(cell="backlog", design=design, feed=feed, waiting=waiting, batch=batch, per_s=round(rate),
                   claim_ms_p50=p(claims, 0.5), claim_ms_p99=p(claims, 0.99))  # fmt: skip
        queue.driver.close()


def snapshot(address: str, size: int) -> None:
    for design, feed in (("A", True), ("M", True), ("B", True)):
        queue = Queue(address, design, feed, 1, size)
        queue.insert(10_000)
        queue.driver.run("ANALYZE", {})
        queue.cycle(10_000, 200)
        with psycopg.connect(address) as holder:
            holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            holder.execute("SELECT count(*) FROM pg_class")
            rates = []
            for _ in range(10):
                queue.insert(10_000)
                rates.append(round(queue.cycle(10_000, 200)[0]))
        report(cell="snapshot", design=design, feed=feed, bytes=size, per_s=rates)
        queue.driver.close()


def main(address: str) -> None:
    small = [(1, 500), (10, 3000), (100, 15_000), (500, 20_000)]
    batches(address, Psycopg, 100, 1, small, 2)
    batches(address, Psycopg, 4096, 1, small, 2)
    batches(address, Psycopg, 100, 10, small, 2)
    batches(address, Asyncpg, 100, 1, small, 2)
    for size in (100, 4096):
        snapshot(address, size)
    for waiting in (0, 1_000_000, 10_000_000):
        backlog(address, waiting)


if __name__ == "__main__":
    main(sys.argv[1])
