"""The parts of a benchmark with penstock itself. Each is tried on a few jobs before it is timed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

from penstock.bench.figures import PICKUPS, Record
from penstock.bench.fresh_store import FreshStore
from penstock.bench.jobs import ARGUMENTS, PROBE_GAP_SECONDS, WARM, BenchApp
from penstock.bench.workers import begin, children, drain_seconds
from penstock.declare.jobtype import JobType
from penstock.program.loop import event_loop
from penstock.store.contract import History, StoreInfo
from penstock.worker.settings import cores

CALLERS = 20
BULK = 10_000
PROBES = 100
WARM_PROBES = 5
LAST = 100
"""So many of the last jobs are waited for: children may end them in another order than that of their enqueue."""
RESULTS_KEPT: History = "default"
"""Where results are awaited, they must be stored, whatever history is asked for."""

Part = tuple[str, Callable[[], None]]


def singles(jobs: int) -> int:
    return max(200, jobs // 20)


def each_caller(jobs: int) -> int:
    return max(50, jobs // 40)


def in_threads(jobs: int) -> int:
    return max(1, jobs // 4)


def in_processes(jobs: int) -> int:
    return max(1, jobs // 10)


class Bench(Record):
    """An app to enqueue with, worker processes to drain with, and the figures so far."""

    def __init__(self, place: FreshStore, jobs: int, processes: int, history: History) -> None:
        super().__init__()
        self._place = place
        self._jobs = jobs
        self._processes = processes
        self._history: History = history
        self._bench = BenchApp(place.address, history)

    def parts(self) -> list[Part]:
        return [
            ("enqueue one by one", self._single),
            (f"enqueue, {CALLERS} callers", self._concurrent),
            (f"enqueue {BULK:,} in bulk", self._bulk),
            ("drain", lambda: self.note("drain_per_s", self._drained_per_s(self._bench.noop, self._jobs))),
            ("drain, threads", self._drain_threads),
            ("drain, processes", self._drain_processes),
            ("pickup", self._pickup),
        ]

    def close(self) -> None:
        self._bench.app.close()

    @property
    def info(self) -> StoreInfo:
        return self._bench.app.store.info

    # Enqueueing

    def _single(self) -> None:
        count = singles(self._jobs)

        def plain(times: int) -> None:
            for _ in range(times):
                self._bench.noop.enqueue(*ARGUMENTS)

        plain(WARM)
        begun = time.perf_counter()
        plain(count)
        self.note("enqueue_single_per_s", count / (time.perf_counter() - begun))
        self.note("enqueue_single_async_per_s", count / _timed(self._one_by_one, count))
        self._empty()

    def _concurrent(self) -> None:
        each = each_caller(self._jobs)

        async def together(times: int) -> None:
            await asyncio.gather(*(self._one_by_one(times) for _ in range(CALLERS)))

        self.note("enqueue_concurrent_per_s", each * CALLERS / _timed(together, each))
        self._empty()

    async def _one_by_one(self, times: int) -> None:
        for _ in range(times):
            await self._bench.noop.aenqueue(*ARGUMENTS)

    def _bulk(self) -> None:
        self._enqueue_many(self._bench.noop, WARM)
        begun = time.perf_counter()
        self._enqueue_many(self._bench.noop, BULK)
        self.note("enqueue_bulk_per_s", BULK / (time.perf_counter() - begun))
        self._empty()

    def _enqueue_many(self, job: JobType[Any, Any, [str, str, str], Any], count: int) -> None:
        self._bench.app.enqueue_many(job.bind(*ARGUMENTS) for _ in range(count))

    def _empty(self) -> None:
        """What a part enqueued must not be measured by the next one."""
        self._place.settle()
        with children(self._place.address, self._history, self._processes, "burst") as started:
            drain_seconds(started)

    # Draining

    def _drained_per_s(self, job: JobType[Any, Any, [str, str, str], Any], count: int) -> float:
        """The workers are there first, and have tried themselves on other jobs."""
        with children(self._place.address, self._history, self._processes, "drain") as started:
            self._enqueue_many(job, count)
            self._place.settle()
            return count / drain_seconds(started)

    def _drain_threads(self) -> None:
        """Threads are started when they are needed, ours and those of the bare pool alike."""
        self.note("drain_threads_per_s", self._drained_per_s(self._bench.plain, in_threads(self._jobs)))

    def _drain_processes(self) -> None:
        """With the children warm, as those of the raw pool are; storing the jobs is part of it."""
        count = in_processes(self._jobs)
        with children(self._place.address, RESULTS_KEPT, self._processes, "processes") as started:
            begin(started)
            self._run_apart(2 * cores() * self._processes)
            begun = time.perf_counter()
            self._run_apart(count)
            self.note("drain_processes_per_s", count / (time.perf_counter() - begun))

    def _run_apart(self, count: int) -> None:
        for job in self._bench.app.enqueue_many(self._bench.apart() for _ in range(count))[-LAST:]:
            job.result(timeout=60)

    # Pickup

    def _pickup(self) -> None:
        """From the call of enqueue to the first line of the handler, in another process that is idle."""
        with children(self._place.address, RESULTS_KEPT, 1, "serve") as started:
            begin(started)
            for probe in range(PROBES + WARM_PROBES):
                sent = time.time_ns()
                handle = self._bench.probe.enqueue(*ARGUMENTS)
                time.sleep(PROBE_GAP_SECONDS)  # Asking for the result at once would be another load on the store.
                seen = handle.result(timeout=30)
                if probe >= WARM_PROBES:
                    self.note(PICKUPS, (seen - sent) / 1e6)


def _timed(work: Callable[[int], Coroutine[Any, Any, None]], times: int) -> float:
    """The seconds that async work takes, tried before in the same event loop: connections belong to a loop."""
    with event_loop() as runner:
        runner.run(work(WARM))
        begun = time.perf_counter()
        runner.run(work(times))
        return time.perf_counter() - begun
