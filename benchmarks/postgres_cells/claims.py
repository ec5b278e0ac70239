"""What a claim and a finish cost through the store itself: after arrivals, beside a long transaction, in statements."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeVar

import psycopg
from growth_curves.hands import Hands, in_loop

from penstock.domain.errors import StoreError
from penstock.store.contract import Claimed, History
from postgres_cells.bed import Bed, Run, median, new_bed, ratio, report, spread
from postgres_cells.statements import Statements

T = TypeVar("T")
WARM = 5
WARM_ROUNDS = 2
BATCH = 200
KEPT: tuple[History, ...] = ("default", "none")


async def _timed_ms(work: Awaitable[T]) -> tuple[float, T]:
    begun = time.perf_counter()
    result = await work
    return (time.perf_counter() - begun) * 1000, result


# After many arrivals


def arrivals(run: Run) -> None:
    """The first claim of a worker that was busy elsewhere while many jobs came, and the one after it."""
    for count in run.size((100_000, 1_000_000), (2_000, 5_000)):
        with new_bed(run) as bed:
            figures = in_loop(_after_arrivals(bed, count))
        report("arrivals", f"{count:,} jobs since the last claim: the next takes {figures['next_ms']} ms, "
               f"the one after it {figures['then_ms']} ms", arrived=count, **figures)  # fmt: skip


async def _after_arrivals(bed: Bed, count: int) -> dict[str, Any]:
    hands = await Hands(bed.bench).register()
    await hands.enqueue(WARM)
    for _ in range(WARM):
        await hands.finish(await hands.claim(1))
    await asyncio.to_thread(bed.fill_waiting, count)
    figures: dict[str, Any] = {}
    for name in ("next_ms", "then_ms"):
        begun = time.perf_counter()
        try:
            await hands.claim(1)
        except StoreError as error:
            figures[f"{name}_error"] = str(error)
        figures[name] = round((time.perf_counter() - begun) * 1000, 1)
    return figures


# Beside a long transaction


def writer(run: Run) -> None:
    """While a transaction that has written stays open."""
    rounds, jobs = run.size(20, 4), run.size(10_000, 1_000)
    with new_bed(run) as bed:
        found = in_loop(_rounds(bed, rounds, jobs))
    ends = max(1, rounds // 4)
    rates, enqueued, claims = found["drain"], found["enqueue"], found["claim_p50_ms"]
    several = {name: ratio(median(found[name][-ends:]), median(found[name][:ends])) for name in found}
    report("writer", f"{rates[0]:,.0f}/s in the first {jobs:,}, {rates[-1]:,.0f}/s in the last of {rounds * jobs:,}: "
           f"{ratio(rates[-1], rates[0])} × (median of {ends} rounds: {several['drain']} ×); "
           f"claim p50 {claims[0]} → {claims[-1]} ms; enqueue {enqueued[0]:,.0f}/s → {enqueued[-1]:,.0f}/s",
           jobs=rounds * jobs, batch=BATCH, first=rates[0], last=rates[-1], ratio=ratio(rates[-1], rates[0]),
           medians_of=ends, ratio_of_medians=several, rounds=found)  # fmt: skip


@contextlib.contextmanager
def _held_transaction(bed: Bed) -> Iterator[None]:
    with psycopg.connect(bed.parsed.conninfo) as holder:
        holder.execute("CREATE TEMPORARY TABLE held AS SELECT pg_current_xact_id()")
        yield
        holder.rollback()


async def _rounds(bed: Bed, rounds: int, jobs: int) -> dict[str, list[float]]:
    """Jobs per second enqueued in bulk, and claimed and finished; the median time of a claim; by round."""
    hands = await Hands(bed.bench).register()
    found: dict[str, list[float]] = {"enqueue": [], "drain": [], "claim_p50_ms": []}
    bed.settle()
    for _ in range(WARM_ROUNDS):
        await _round(hands, jobs, {name: [] for name in found})
    with _held_transaction(bed):
        for _ in range(rounds):
            await _round(hands, jobs, found)
    return found


async def _round(hands: Hands, jobs: int, found: dict[str, list[float]]) -> None:
    enqueued_ms, _ = await _timed_ms(hands.enqueue(jobs))
    claims = []
    begun = time.perf_counter()
    for _ in range(jobs // BATCH):
        taken_ms, claimed = await _timed_ms(hands.claim(BATCH))
        claims.append(taken_ms)
        await hands.finish(claimed)
    found["drain"].append(round(jobs / (time.perf_counter() - begun), 1))
    found["enqueue"].append(round(jobs / enqueued_ms * 1000, 1))
    found["claim_p50_ms"].append(spread(claims)["p50_ms"])


# In statements and bytes

_statements: Statements | None = None


def cost(run: Run) -> None:
    """Statements and bytes of the server's log per job, in batches and alone, beside the bare driver's."""
    # Not right after a checkpoint, when the log gets a copy of every page that is touched for the first time.
    global _statements
    _statements = _statements or Statements()
    with new_bed(run) as bed:
        bed.settle()
        in_loop(_phases(bed, _statements, BATCH, WARM, "default"))
        figures: dict[str, dict[str, dict[str, float]]] = {
            f"batch_{batch}_{history}": in_loop(_phases(bed, _statements, batch, times, history))
            for batch, times in ((BATCH, run.size(50, 2)), (1, run.size(500, 10)))
            for history in KEPT
        }
        figures["raw"] = _bare_wal(bed, run.size(10_000, 1_000))
    wal = {name: round(sum(one["wal_bytes"].values())) for name, one in figures.items()}
    sent = {name: round(sum(one["statements"].values()), 3) for name, one in figures.items() if name != "raw"}
    readable = ", ".join(f"{name} {count:g} statements and {wal[name]:,} bytes" for name, count in sent.items())
    report("cost", f"per job: {readable}; raw {wal['raw']:,} bytes", statements_per_job=sent, wal_bytes_per_job=wal,
           wal_to_raw={name: ratio(wal[name], wal["raw"]) for name in sent}, phases=figures)  # fmt: skip


async def _phases(
    bed: Bed, statements: Statements, batch: int, times: int, history: History
) -> dict[str, dict[str, float]]:
    """All are enqueued, then all claimed, then all finished: each of the three has its own bytes."""
    hands = await Hands(bed.bench).register()
    claimed: list[Claimed] = []
    await hands.enqueue(1)
    await hands.finish(await hands.claim(1))  # The connections are there, the statements prepared.

    async def claim() -> None:
        claimed.append(await hands.claim(batch))

    phases: dict[str, Callable[[], Awaitable[None]]] = {
        "enqueue": lambda: hands.enqueue(batch),
        "claim": claim,
        "finish": lambda: hands.finish(claimed.pop(), history),
    }
    found: dict[str, dict[str, float]] = {"statements": {}, "wal_bytes": {}}
    for name, phase in phases.items():
        written, sent = bed.wal_bytes(), statements.count
        for _ in range(times):
            await phase()
        await asyncio.sleep(0.1)  # A notification that was put off belongs to it.
        found["statements"][name] = round((statements.count - sent) / (times * batch), 4)
        found["wal_bytes"][name] = round((bed.wal_bytes() - written) / (times * batch), 1)
    return found


def _bare_wal(bed: Bed, jobs: int) -> dict[str, dict[str, float]]:
    with contextlib.closing(bed.bare()) as bare:
        bare.fill(jobs)
        before = bed.wal_bytes()
        bare.drain(BATCH)
        drained = bed.wal_bytes() - before
        before = bed.wal_bytes()
        bare.insert_bulk(jobs)
        inserted = bed.wal_bytes() - before
    return {"wal_bytes": {"enqueue": round(inserted / jobs, 1), "claim_and_finish": round(drained / jobs, 1)}}
