"""What a worker process does over time: how soon it begins a job, what it costs while idle, and its memory."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from typing import Any

from penstock.bench.jobs import ARGUMENTS, PROBE_GAP_SECONDS
from penstock.bench.workers import begin, children
from postgres_cells.bed import Bed, Run, new_bed, progress, ratio, report, spread
from postgres_cells.child import ask, started
from postgres_cells.jobs import one_in_ten_fails

ROUNDS = 3
WARM = 5
SETTLE_SECONDS = 3.0


def pickup(run: Run) -> None:
    """From the call of enqueue to the first line of the handler: by an idle worker, and by one at half its pace."""
    probes = run.size(100, 5)
    with new_bed(run) as bed:
        idle, raw = _idle_pickup_ms(bed, probes)
        progress("at half load")
        busy, load = _busy_pickup_ms(bed, run.size(300, 10), run.size(30_000, 2_000))
    figures = {"idle": spread(idle), "raw": spread(raw), "half_load": spread(busy)}
    ratios = {
        f"{name}_to_raw": {of: ratio(figures[name][of], figures["raw"][of]) for of in ("p50_ms", "p99_ms")}
        for name in ("idle", "half_load")
    }
    readable = ", ".join(f"{name} p50 {one['p50_ms']} ms p99 {one['p99_ms']} ms" for name, one in figures.items())
    report("pickup", f"{readable}; idle to raw {ratios['idle_to_raw']['p50_ms']} × and "
           f"{ratios['idle_to_raw']['p99_ms']} ×; load {load['claimed_per_s']:,}/s of {load['drain_per_s']:,}/s, "
           f"{load['left']:,} jobs behind at the end", **figures, ratios=ratios, load=load)  # fmt: skip


def _idle_pickup_ms(bed: Bed, probes: int) -> tuple[list[float], list[float]]:
    """Ours and the bare driver's in turn."""
    ours: list[float] = []
    bare_ones: list[float] = []
    with contextlib.closing(bed.bare()) as bare, children(bed.address, "default", 1, "serve") as workers:
        begin(workers)
        _pickup_ms(bed, WARM)
        for round_ in range(ROUNDS):
            progress(f"round {round_ + 1} of {ROUNDS}")
            ours += _pickup_ms(bed, probes)
            bare_ones += bare.pickup_ms(probes)
    return ours, bare_ones


def _busy_pickup_ms(bed: Bed, probes: int, jobs: int) -> tuple[list[float], dict[str, Any]]:
    rate = bed.drained_per_s(jobs)
    with (
        children(bed.address, "default", 1, "serve") as workers,
        started(bed.address, "load", round(rate / 2)) as loaders,
    ):
        begin(workers)
        _pickup_ms(bed, WARM)
        begin(loaders)
        time.sleep(1)
        begun, tokens = time.perf_counter(), _tokens(bed)
        found = _pickup_ms(bed, probes)
        claimed = round((_tokens(bed) - tokens) / (time.perf_counter() - begun))
        left = bed.left()
    return found, {"drain_per_s": round(rate), "claimed_per_s": claimed, "left": left}


def _tokens(bed: Bed) -> int:
    """Grows by one with every claimed job, and by more only when a worker registers."""
    found: int = bed.value("SELECT last_value FROM {schema}.token")
    return found


def _pickup_ms(bed: Bed, probes: int) -> list[float]:
    found = []
    for _ in range(probes):
        sent = time.time_ns()
        handle = bed.bench.probe.enqueue(*ARGUMENTS)
        time.sleep(PROBE_GAP_SECONDS)  # Asking for the result at once would be another load on the server.
        found.append((handle.result(timeout=30) - sent) / 1e6)
    return found


def idle(run: Run) -> None:
    """Statements per second and the share of a core of a worker with nothing to do."""
    seconds = run.size(20.0, 3.0)
    with new_bed(run) as on, new_bed(run) as off:
        silent = replace(off.parsed, notify=False).in_schema(off.parsed.schema)
        with started(on.address, "serve") as hearing, started(silent, "serve") as polling:
            workers = {"notify": hearing[0], "notify_off": polling[0]}
            begin([*workers.values()])
            time.sleep(SETTLE_SECONDS)
            begun, before = time.perf_counter(), {name: ask(child) for name, child in workers.items()}
            progress(f"waiting for {seconds:g} s")
            time.sleep(seconds)
            passed, after = time.perf_counter() - begun, {name: ask(child) for name, child in workers.items()}
    figures = {
        name: {
            "statements_per_s": round((after[name]["statements"] - before[name]["statements"]) / passed, 2),
            "cpu_percent": round(100 * (after[name]["cpu_s"] - before[name]["cpu_s"]) / passed, 2),
        }
        for name in workers
    }
    readable = ", ".join(
        f"{name} {one['statements_per_s']} statements/s, {one['cpu_percent']} % of a core"
        for name, one in figures.items()
    )
    report("idle", readable, seconds=round(passed, 1), **figures)


def memory(run: Run) -> None:
    """The resident memory of a worker over its jobs, one in ten failing once; long."""
    total, bulk, page = run.size((300_000, 10_000, 50_000), (3_000, 500, 1_000))
    seen: list[float] = []
    with new_bed(run) as bed, started(bed.address, "serve") as workers:
        begin(workers)
        job = one_in_ten_fails(bed.bench.app)
        for first in range(0, total, bulk):
            bed.bench.app.enqueue_many(job.bind(n, "x" * 120) for n in range(first, first + bulk))
            while bed.left():
                time.sleep(0.05)
            if (first + bulk) % page == 0:
                seen.append(round(ask(workers[0])["rss_mib"], 1))
                progress(f"{first + bulk:,} jobs, {seen[-1]} MiB")
    grown = round(seen[-1] - seen[0], 1)
    report("memory", f"{seen[0]} MiB after {page:,} jobs, {seen[-1]} MiB after {total:,}: {grown:+} MiB",
           jobs=total, every=page, rss_mib=seen, growth_mib=grown)  # fmt: skip
