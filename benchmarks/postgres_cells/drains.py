"""How fast worker processes drain: beside the bare driver, and while history is pruned."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from typing import Any

import psycopg
from psycopg import sql

from penstock.bench.raw_postgres import RawPostgres
from penstock.bench.workers import drain_seconds
from penstock.store.contract import History, PruneJobs
from postgres_cells.bed import Bed, Run, median, new_bed, progress, ratio, report
from postgres_cells.child import started

ROUNDS = 3
BATCHES = (100, 500)
KEPT: tuple[History, ...] = ("default", "none")
PRUNE_PAGE = 1000
DAY_SECONDS = 86_400.0
OLD_DAYS = 3
"""Old enough for the pruning of these cells, too young for the worker's own, which keeps a week."""


def drain1(run: Run) -> None:
    """One worker process against one bare connection."""
    _drain(run, "drain1", 1)


def drain2(run: Run) -> None:
    """Two worker processes against two bare ones."""
    _drain(run, "drain2", 2)


def _drain(run: Run, cell: str, processes: int) -> None:
    jobs = run.size(50_000, 1_000)
    found: dict[str, list[float]] = {}
    with ExitStack() as stack:
        beds = {history: stack.enter_context(new_bed(run)) for history in KEPT}
        bare = beds["default"].bare()
        stack.callback(bare.close)
        for round_ in range(ROUNDS):
            progress(f"round {round_ + 1} of {ROUNDS}")
            for history, bed in beds.items():
                found.setdefault(history, []).append(bed.drained_per_s(jobs, history, processes))
            for batch in BATCHES:
                rate = _bare_per_s(bare, beds["default"], jobs, batch, processes)
                found.setdefault(f"raw_{batch}", []).append(rate)
    rates = {name: round(median(values)) for name, values in found.items()}
    ratios = {
        f"{history}_to_raw_{batch}": ratio(rates[history], rates[f"raw_{batch}"])
        for history in KEPT
        for batch in BATCHES
    }
    readable = f"{rates['default']:,}/s, history none {rates['none']:,}/s; " + ", ".join(
        f"raw batch {batch} {rates[f'raw_{batch}']:,}/s ({ratios[f'default_to_raw_{batch}']} ×)" for batch in BATCHES
    )
    report(cell, readable, jobs=jobs, processes=processes, per_s=rates, ratios=ratios, rounds=_whole(found))


def _whole(found: dict[Any, list[float]]) -> dict[Any, list[int]]:
    """Rates by round, without digits that mean nothing."""
    return {name: [round(rate) for rate in rates] for name, rates in found.items()}


def _bare_per_s(bare: RawPostgres, bed: Bed, jobs: int, batch: int, processes: int) -> float:
    bare.fill(jobs)
    with started(bed.address, "cycle", batch, processes) as children:
        return jobs / drain_seconds(children)


def retention(run: Run) -> None:
    """While as many old jobs are removed as are finished, against without."""
    jobs = run.size(30_000, 2_000)
    found: dict[str, list[float]] = {"without": [], "with": []}
    pruned = []
    with new_bed(run) as bed:
        bed.fill_finished(jobs * (ROUNDS + 1), OLD_DAYS)
        bed.drained_per_s(max(1, jobs // 10))
        for round_ in range(ROUNDS):
            progress(f"round {round_ + 1} of {ROUNDS}")
            found["without"].append(bed.drained_per_s(jobs))
            with Pruner(bed, jobs, found["without"][-1]) as pruner:
                found["with"].append(bed.drained_per_s(jobs))
            pruned.append(pruner.pruned)
    _compare("retention", found, "while pruned", "without", jobs=jobs, pruned=pruned)


class Pruner:
    """Removes old jobs from when a worker is registered on, at the pace at which jobs were drained without it."""

    def __init__(self, bed: Bed, jobs: int, per_second: float) -> None:
        self._bed = bed
        self._jobs = jobs
        self._per_second = per_second
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._registered = sql.SQL("SELECT 1 FROM {} WHERE status = 'active'").format(
            sql.Identifier(bed.parsed.schema, "worker")
        )
        self.pruned = 0

    def __enter__(self) -> Pruner:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        with psycopg.connect(self._bed.parsed.conninfo, autocommit=True) as db:
            while not self._over.is_set() and not db.execute(self._registered).fetchall():
                self._over.wait(0.005)
        begun = time.perf_counter()
        while not self._over.is_set() and self.pruned < self._jobs:
            if self.pruned < (time.perf_counter() - begun) * self._per_second:
                self.pruned += self._prune()
            else:
                self._over.wait(0.005)

    def _prune(self) -> int:
        page = PruneJobs(completed_after=DAY_SECONDS, cancelled_after=DAY_SECONDS, limit=PRUNE_PAGE)
        return self._bed.bench.app.store.prune_jobs(page).wait().jobs


def _compare(cell: str, found: dict[str, list[float]], what: str, against: str, **settings: object) -> None:
    (base_name, base), (name, rates) = found.items()
    base_rate, rate = round(median(base)), round(median(rates))
    report(cell, f"{rate:,}/s {what}, {base_rate:,}/s {against}: {ratio(rate, base_rate)} ×", **settings,
           per_s={base_name: base_rate, name: rate}, ratio=ratio(rate, base_rate), rounds=_whole(found))  # fmt: skip
