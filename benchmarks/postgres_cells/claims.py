"""What a claim and a finish cost through the store itself: with a backlog, beside long transactions, in statements."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, TypeVar

import psycopg

from penstock.cli.bench.jobs import ARGUMENTS
from penstock.cli.loop import new_event_loop
from penstock.domain.errors import StoreError
from penstock.store.params import Claimed, ClaimJobs, Completed, FinishJobs, History, RegisterWorker
from postgres_cells.bed import Bed, Run, median, new_bed, progress, ratio, report, spread
from postgres_cells.statements import Statements

T = TypeVar("T")
TURNS = 10
WARM = 5
WARM_ROUNDS = 2
BATCH = 200
FIRST = 0
"""Under this stands how long the first claim of a new connection took."""
KEPT: tuple[History, ...] = ("default", "none")


class Hands:
    """A worker's dealings with the store, in one event loop: one connection for claims, others for the rest."""

    def __init__(self, bed: Bed) -> None:
        self._app = bed.bench.app
        self._noop = bed.bench.noop
        self._session = 0

    async def register(self) -> Hands:
        self._session = await self._app.store.register_worker(
            RegisterWorker(
                worker_id=f"bench-{secrets.token_hex(4)}", host="bench", pid=1, version="0", slots=BATCH,
                stale_after=3600.0,
            )
        )  # fmt: skip
        return self

    async def enqueue(self, count: int) -> None:
        await self._app.aenqueue_many(self._noop.bind(*ARGUMENTS) for _ in range(count))

    async def claim(self, limit: int) -> Claimed:
        """All of them, or the cell means nothing."""
        claimed = await self._app.store.claim_jobs(ClaimJobs(self._session, limit))
        if len(claimed.jobs) != limit:
            raise SystemExit(f"a claim of {limit} gave {len(claimed.jobs)}, although enough jobs wait")
        return claimed

    async def finish(self, claimed: Claimed, history: History = "default") -> None:
        done = [Completed(job.token, claimed.claimed_at) for job in claimed.jobs]
        if lost := await self._app.store.finish_jobs(FinishJobs(done, history=history)):
            raise SystemExit(f"{len(lost)} of {len(done)} jobs were lost between claim and finish")


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work)


async def _timed_ms(work: Awaitable[T]) -> tuple[float, T]:
    begun = time.perf_counter()
    result = await work
    return (time.perf_counter() - begun) * 1000, result


# With a backlog


def backlog(run: Run) -> None:
    """Claim times with 1M and 10M waiting against 10,000, in turn; what is claimed is enqueued again."""
    few_jobs = run.size(10_000, 1_000)
    levels = run.size((1_000_000, 10_000_000), (5_000, 20_000))
    with new_bed(run) as few, new_bed(run) as many:
        few.fill_waiting(few_jobs)
        for level in levels:
            many.fill_waiting(level - many.rows)
            progress(f"claims with {level:,} waiting")
            _report_backlog(level, few_jobs, in_loop(_claims_in_turn(run, {"few": few, "many": many})))


async def _claims_in_turn(run: Run, beds: dict[str, Bed]) -> dict[str, dict[int, list[float]]]:
    hands = {name: await Hands(bed).register() for name, bed in beds.items()}
    found: dict[str, dict[int, list[float]]] = {name: {} for name in beds}
    for name, hand in hands.items():
        found[name][FIRST] = await _claim_times_ms(hand, 1, 1)
        await _claim_times_ms(hand, 1, WARM)
    for batch, each in ((1, run.size(100, 3)), (100, run.size(50, 3))):
        for _ in range(TURNS):
            for name, hand in hands.items():
                found[name].setdefault(batch, []).extend(await _claim_times_ms(hand, batch, each))
    return found


async def _claim_times_ms(hands: Hands, batch: int, count: int) -> list[float]:
    times = []
    for _ in range(count):
        taken_ms, claimed = await _timed_ms(hands.claim(batch))
        times.append(taken_ms)
        await hands.finish(claimed)
        await hands.enqueue(batch)
    return times


def _report_backlog(level: int, few_jobs: int, found: dict[str, dict[int, list[float]]]) -> None:
    figures: dict[str, Any] = {}
    for batch in (1, 100):
        few, many = (spread(found[name][batch]) for name in ("few", "many"))
        figures[f"claim_{batch}"] = {
            "few": few, "many": many, "p50_ratio": ratio(many["p50_ms"], few["p50_ms"]),
            "p99_ratio": ratio(many["p99_ms"], few["p99_ms"]), "claims": len(found["many"][batch]),
        }  # fmt: skip
    first = {name: round(times[FIRST][0], 1) for name, times in found.items()}
    readable = "; ".join(
        f"claims of {batch}: p50 {one['many']['p50_ms']} ms ({one['p50_ratio']} ×), "
        f"p99 {one['many']['p99_ms']} ms ({one['p99_ratio']} ×)"
        for batch, one in ((batch, figures[f"claim_{batch}"]) for batch in (1, 100))
    )
    report("backlog", f"{level:,} waiting against {few_jobs:,}: {readable}; first claim {first['many']} ms",
           waiting=level, against=few_jobs, first_claim_ms=first, **figures)  # fmt: skip


def arrivals(run: Run) -> None:
    """The first claim of a worker that was busy elsewhere while many jobs came, and the one after it."""
    for count in run.size((100_000, 1_000_000), (2_000, 5_000)):
        with new_bed(run) as bed:
            figures = in_loop(_after_arrivals(bed, count))
        report("arrivals", f"{count:,} jobs since the last claim: the next takes {figures['next_ms']} ms, "
               f"the one after it {figures['then_ms']} ms", arrived=count, **figures)  # fmt: skip


async def _after_arrivals(bed: Bed, count: int) -> dict[str, Any]:
    hands = await Hands(bed).register()
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


# Beside long transactions


def snapshot(run: Run) -> None:
    """While another connection holds a REPEATABLE READ snapshot."""
    _churn(run, "snapshot", _held_snapshot)


def writer(run: Run) -> None:
    """While a transaction that has written stays open."""
    _churn(run, "writer", _held_transaction)


@contextlib.contextmanager
def _held_snapshot(bed: Bed) -> Iterator[None]:
    with psycopg.connect(bed.parsed.conninfo) as holder:
        holder.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        holder.execute("SELECT count(*) FROM pg_class")
        yield


@contextlib.contextmanager
def _held_transaction(bed: Bed) -> Iterator[None]:
    with psycopg.connect(bed.parsed.conninfo) as holder:
        holder.execute("CREATE TEMPORARY TABLE held AS SELECT pg_current_xact_id()")
        yield
        holder.rollback()


def _churn(run: Run, cell: str, held: Callable[[Bed], contextlib.AbstractContextManager[None]]) -> None:
    rounds, jobs = run.size(20, 4), run.size(10_000, 1_000)
    with new_bed(run) as bed:
        found = in_loop(_rounds(bed, rounds, jobs, held))
    ends = max(1, rounds // 4)
    rates, enqueued, claims = found["drain"], found["enqueue"], found["claim_p50_ms"]
    several = {name: ratio(median(found[name][-ends:]), median(found[name][:ends])) for name in found}
    report(cell, f"{rates[0]:,.0f}/s in the first {jobs:,}, {rates[-1]:,.0f}/s in the last of {rounds * jobs:,}: "
           f"{ratio(rates[-1], rates[0])} × (median of {ends} rounds: {several['drain']} ×); "
           f"claim p50 {claims[0]} → {claims[-1]} ms; enqueue {enqueued[0]:,.0f}/s → {enqueued[-1]:,.0f}/s",
           jobs=rounds * jobs, batch=BATCH, first=rates[0], last=rates[-1], ratio=ratio(rates[-1], rates[0]),
           medians_of=ends, ratio_of_medians=several, rounds=found)  # fmt: skip


async def _rounds(
    bed: Bed, rounds: int, jobs: int, held: Callable[[Bed], contextlib.AbstractContextManager[None]]
) -> dict[str, list[float]]:
    """Jobs per second enqueued in bulk, and claimed and finished; the median time of a claim; by round."""
    hands = await Hands(bed).register()
    found: dict[str, list[float]] = {"enqueue": [], "drain": [], "claim_p50_ms": []}
    bed.settle()
    for _ in range(WARM_ROUNDS):
        await _round(hands, jobs, {name: [] for name in found})
    with held(bed):
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
    hands = await Hands(bed).register()
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
