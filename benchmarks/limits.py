"""Does the cost per job stay flat? Backlog, history, a long reader, memory, idleness; on SQLite, on a real disk.

    python benchmarks/limits.py FOLDER [backlog|history|reader|memory|idle ...] [--small]

Prints one JSON line per question. Runs alone for several minutes and needs up to 8 GB in FOLDER.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from penstock import App, Fixed
from penstock.store.params import ClaimJobs, Completed, FinishJobs, RegisterWorker

BODY = "x" * 120
SMALL = "--small" in sys.argv
MANY = 1_000_000 if SMALL else 10_000_000


def new_app(folder: Path, name: str) -> App:
    for end in ("", "-wal", "-shm", "-lock"):
        (folder / f"{name}.db{end}").unlink(missing_ok=True)
    return App(f"sqlite:///{folder}/{name}.db")


def say(question: str, **answers: object) -> None:
    sys.stdout.write(json.dumps({"question": question, **answers}) + "\n")
    sys.stdout.flush()


def fill(app: App, count: int) -> None:
    @app.job(name="noop")
    async def noop(to: str, body: str) -> None:
        pass

    call = noop.bind("someone@example.com", BODY)
    for begun in range(0, count, 50_000):
        app.enqueue_many([call] * min(50_000, count - begun))


def claim_times_ms(app: App, rounds: int = 400) -> list[float]:
    """How long a claim of 10 takes, each followed by its completion."""
    worker = RegisterWorker(worker_id=f"w{time.time_ns()}", host="h", pid=1, version="0", slots=10, stale_after=3600)
    session = app.store.register_worker(worker).wait()
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        claimed = app.store.claim_jobs(ClaimJobs(session, 10)).wait()
        times.append((time.perf_counter() - begun) * 1000)
        done = [Completed(claim.token, claimed.claimed_at) for claim in claimed.jobs]
        app.store.finish_jobs(FinishJobs(done)).wait()
    return sorted(times)


def backlog(folder: Path) -> None:
    app = new_app(folder, "backlog")
    fill(app, 10_000)
    few = claim_times_ms(app)
    fill_more = App(f"sqlite:///{folder}/backlog.db")
    fill(fill_more, MANY)
    many = claim_times_ms(app)
    p99 = int(len(few) * 0.99)
    say("claim p99 with many waiting against 10,000", waiting=MANY, few_p50=few[len(few) // 2], few_p99=few[p99],
        many_p50=many[len(many) // 2], many_p99=many[p99], ratio=round(many[p99] / few[p99], 2))  # fmt: skip


def drain_seconds(app: App) -> float:
    begun = time.perf_counter()
    asyncio.run(app.run_worker(burst=True))
    return time.perf_counter() - begun


def history(folder: Path) -> None:
    for name, kept in (("short", 0), ("long", MANY)):
        app = new_app(folder, name)
        fill(app, 1_000)
        drain_seconds(app)
        app.close()
        if kept:
            add_history(f"{folder}/{name}.db", kept)
    os.sync()  # What made the history must not be written back while the drain is measured.
    rates: dict[str, list[float]] = {"short": [], "long": []}
    for _ in range(5):
        for name, found in rates.items():
            app = App(f"sqlite:///{folder}/{name}.db")
            fill(app, 50_000)
            found.append(50_000 / drain_seconds(app))
            app.close()
    short, long = (statistics.median(found) for found in rates.values())
    say("drain with a long history against none, in turn", kept=MANY, none=round(short), long=round(long),
        ratio=round(long / short, 2))  # fmt: skip


def add_history(path: str, count: int) -> None:
    db = apsw.Connection(path)
    db.execute(
        """
        BEGIN IMMEDIATE;
        CREATE TEMP TABLE span AS SELECT max(seq) AS top FROM penstock_job;
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :count)
        INSERT INTO penstock_job (seq, id, lane, priority, due_at, created_at, payload)
        SELECT (SELECT top FROM span) + i, printf('00000000-0000-7000-8000-%012x', i), 1, 0, i, i, :body FROM n;
        INSERT INTO penstock_outcome
            (seq, state, attempt, session, claimed_at, started_at, finished_at, decided_by)
        SELECT seq, 1, 1, 1, 1, 1, due_at, 'worker' FROM penstock_job WHERE seq > (SELECT top FROM span);
        COMMIT
        """,
        {"count": count, "body": json.dumps({"to": "someone@example.com", "body": BODY})},
    ).fetchall()
    db.close()


def reader(folder: Path) -> None:
    app = new_app(folder, "reader")
    fill(app, 1_000)
    drain_seconds(app)
    held = apsw.Connection(f"{folder}/reader.db")
    held.execute("BEGIN")
    held.execute("SELECT count(*) FROM penstock_job").fetchall()
    rates = []
    for _ in range(20):
        again = App(f"sqlite:///{folder}/reader.db")
        fill(again, 10_000)
        rates.append(10_000 / drain_seconds(again))
        again.close()
    held.execute("ROLLBACK")
    first, last = statistics.median(rates[:5]), statistics.median(rates[-5:])
    say("200,000 jobs under a long reader, last against first", first=round(first), last=round(last),
        ratio=round(last / first, 2), wal_mib=os.path.getsize(f"{folder}/reader.db-wal") >> 20)  # fmt: skip


def memory(folder: Path) -> None:
    total, page = (200_000 if SMALL else 1_000_000), resource.getpagesize()
    app = new_app(folder, "memory")
    seen: list[float] = []
    count = 0

    def rss_mib() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * page / 2**20

    @app.job(name="sometimes", attempts=2, backoff=Fixed(0))
    async def sometimes(n: int, body: str) -> None:
        nonlocal count
        count += 1
        if count % 50_000 == 0:
            seen.append(round(rss_mib(), 1))
        if n % 10 == 0:
            raise ValueError("one in ten")

    for begun in range(0, total, 20_000):
        app.enqueue_many([sometimes.bind(n, BODY) for n in range(begun, begun + 20_000)])
        asyncio.run(app.run_worker(burst=True))
    say("resident memory of a worker over its jobs, one in ten failing", jobs=total, runs=count, rss_mib=seen,
        growth_after_50k_mib=round(seen[-1] - seen[0], 1))  # fmt: skip


def idle(folder: Path) -> None:
    new_app(folder, "idle").store.migrate()
    code = (
        "import asyncio; from penstock import App\n"
        f"app = App('sqlite:///{folder}/idle.db')\n"
        "@app.job\n"
        "async def noop() -> None: pass\n"
        "asyncio.run(app.run_worker())"
    )
    child = subprocess.Popen([sys.executable, "-c", code])
    try:
        time.sleep(3)
        before, begun = _cpu_seconds(child.pid), time.monotonic()
        time.sleep(20)
        used = _cpu_seconds(child.pid) - before
        say("share of a core of an idle worker", percent=round(100 * used / (time.monotonic() - begun), 2))
    finally:
        child.terminate()
        child.wait()


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


QUESTIONS: dict[str, Callable[[Path], None]] = {
    "backlog": backlog,
    "history": history,
    "reader": reader,
    "memory": memory,
    "idle": idle,
}


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not words or not set(words[1:]) <= set(QUESTIONS):
        sys.exit(__doc__)
    logging.disable(logging.ERROR)
    folder = Path(words[0]).absolute()
    for name in words[1:] or QUESTIONS:
        QUESTIONS[name](folder)


if __name__ == "__main__":
    main()
