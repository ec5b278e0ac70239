"""What it costs to look: a sample and the health of a large store, and figures of many types and workers.

    python -m benchmarks.figures sqlite --finished 10000000 --waiting 1000000
    python -m benchmarks.figures postgresql://user@host/database

Prints one line of JSON for each question. Alone on the machine, on a real disk; the store is removed afterwards.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.growth_curves.beds import StoreBed, postgres_bed, sqlite_bed
from penstock.domain.figures.series import Count, Route, Tally, pack
from penstock.observe.health import Facts, Limits, judge
from penstock.observe.reading import read_facts
from penstock.store import contract as p
from penstock.system.clock import SystemClock

TYPES, WORKERS, MINUTES = 100, 20, 30
BEATS_PER_MINUTE = 6


def say(what: str, **figures: Any) -> None:
    print(json.dumps({"what": what, **figures}), flush=True)


def timed(do: Callable[[], Any], times: int = 3) -> float:
    """Seconds of the best of several times."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        do()
        found.append(time.perf_counter() - began)
    return round(min(found), 4)


def large(bed: StoreBed, finished: int, waiting: int) -> None:
    store = bed.bench.app.store
    bed.fill_finished(finished, 1)
    bed.fill_waiting(waiting)
    counted = store.count_gauges().wait()
    ended = store.count_ended().wait()
    say(
        "a large store", finished=finished, waiting=waiting,
        count_gauges_s=timed(lambda: store.count_gauges().wait()),
        count_ended_s=timed(lambda: store.count_ended().wait()),
        store_sample_s=timed(
            lambda: store.store_sample(p.StoreSample(counted.at, 0.1, counted.gauges, ended, history=True)).wait()
        ),
        read_sample_s=timed(lambda: store.read_sample().wait()),
        read_capacity_s=timed(lambda: store.read_capacity().wait()),
        health_s=timed(lambda: judge(read(store), Limits())),
        counts_by_state_s=timed(lambda: store.count_jobs(p.ALL_STATES).wait(), 1),
        counts_by_type_s=timed(lambda: store.count_jobs().wait(), 1),
    )  # fmt: skip


def read(store: p.Store) -> Facts:
    facts = Facts()
    read_facts(store, SystemClock(), facts)
    return facts


def many(bed: StoreBed) -> None:
    """Half an hour of a hundred types on twenty workers, a page from each with every heartbeat."""
    store = bed.bench.app.store
    before, pages, folds = bed.disk_mib(), 0, []
    tally = Tally()
    for number in range(TYPES):
        figures = tally.of(Route(f"type-{number}", "default", "general"))
        figures.count(Count.STARTED, Count.COMPLETED, times=40)
        figures.ran = 20.0
        for spread in (figures.running, figures.waiting, figures.claiming):
            spread.update(dict.fromkeys(range(40, 50), 4))
        figures.attempts[1] = 40
    known: dict[str, Any] = {"host": "h", "pid": 1, "version": "1", "slots": 1, "stale_after": 1e6}
    sessions = [
        store.register_worker(p.RegisterWorker(worker_id=f"w{number}", **known)).wait().session
        for number in range(WORKERS)
    ]
    began = time.perf_counter()
    for beat in range(1, MINUTES * BEATS_PER_MINUTE + 1):
        for number, session in enumerate(sessions):
            page = p.Page(f"book-{number}", beat, tally)
            store.heartbeat_worker(p.HeartbeatWorker(session, page=page)).wait()
            pages += 1
        if beat % (BEATS_PER_MINUTE // 2) == 0:
            at = time.perf_counter()
            while store.fold_figures(p.FoldFigures()).wait():
                pass
            folds.append(time.perf_counter() - at)
    took = time.perf_counter() - began
    say(
        "a hundred types on twenty workers", pages=pages, page_bytes=len(pack(tally)),
        ms_per_heartbeat=round(1000 * (took - sum(folds)) / pages, 3), fold_s=round(max(folds), 3),
        writes_per_second=round(WORKERS * BEATS_PER_MINUTE / 60 + 1 / 30, 2),
        mib_after=round(bed.disk_mib() - before, 1),
    )  # fmt: skip


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("engine", help="sqlite, or the address of a PostgreSQL database")
    asked.add_argument("--finished", type=int, default=10_000_000)
    asked.add_argument("--waiting", type=int, default=1_000_000)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(dir=".", prefix="figures-") as folder:
        for question in (many, lambda bed: large(bed, given.finished, given.waiting)):
            made = sqlite_bed(Path(folder)) if given.engine == "sqlite" else postgres_bed(given.engine)
            with made as bed:
                question(bed)


if __name__ == "__main__":
    main()
