"""A worker's dealings with the store, one call at a time, so that each can be timed."""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from penstock.bench.jobs import ARGUMENTS, BenchApp
from penstock.program.loop import event_loop
from penstock.store.contract import Claimed, ClaimJobs, Completed, FinishJobs, History, RegisterWorker

T = TypeVar("T")
SLOTS = 200
STALE_SECONDS = 3600.0
BATCH = 10
WARM = 5


class Hands:
    """All in one event loop: one connection for claims, others for the rest."""

    def __init__(self, bench: BenchApp) -> None:
        self._app = bench.app
        self._noop = bench.noop
        self._session = 0

    async def register(self) -> Hands:
        registered = await self._app.store.register_worker(
            RegisterWorker(
                worker_id=f"bench-{secrets.token_hex(4)}", host="bench", pid=1, version="0", slots=SLOTS,
                stale_after=STALE_SECONDS,
            )
        )  # fmt: skip
        self._session = registered.session
        return self

    async def enqueue(self, count: int) -> None:
        await self._app.aenqueue_many(self._noop.bind(*ARGUMENTS) for _ in range(count))

    async def claim(self, limit: int) -> Claimed:
        """All of them, or the figures mean nothing."""
        claimed = await self._app.store.claim_jobs(ClaimJobs(self._session, limit))
        if len(claimed.jobs) != limit:
            raise SystemExit(f"a claim of {limit} gave {len(claimed.jobs)}, although enough jobs wait")
        return claimed

    async def finish(self, claimed: Claimed, history: History = "default") -> None:
        done = [Completed(job.token, claimed.claimed_at) for job in claimed.jobs]
        if lost := (await self._app.store.finish_jobs(FinishJobs(done, history=history))).lost:
            raise SystemExit(f"{len(lost)} of {len(done)} jobs were lost between claim and finish")

    async def claim_ms(self, limit: int) -> float:
        """How long a claim takes. What it took is finished, and as many jobs are enqueued again."""
        begun = time.perf_counter()
        claimed = await self.claim(limit)
        taken_ms = (time.perf_counter() - begun) * 1000
        await self.finish(claimed)
        await self.enqueue(limit)
        return taken_ms


def in_loop(work: Coroutine[Any, Any, T]) -> T:
    with event_loop() as runner:
        return runner.run(work)


def claim_figures(bench: BenchApp, count: int) -> dict[str, float]:
    """The first claim of a new worker, and the median and the 99th percentile of those after a few more."""
    first, times = in_loop(_claims_ms(bench, count))
    ordered = sorted(times)
    return {
        "first_claim_ms": first,
        "claim_p50_ms": statistics.median(ordered),
        "claim_p99_ms": percentile(ordered, 0.99),
    }


async def _claims_ms(bench: BenchApp, count: int) -> tuple[float, list[float]]:
    hands = await Hands(bench).register()
    first = await hands.claim_ms(BATCH)
    for _ in range(WARM):
        await hands.claim_ms(BATCH)
    return first, [await hands.claim_ms(BATCH) for _ in range(count)]


def percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
