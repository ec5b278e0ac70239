"""The parts of a benchmark and the rounds in which they are measured."""

from __future__ import annotations

import asyncio
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from penstock.cli.bench.jobs import ARGUMENTS, PROBE_GAP_SECONDS, BenchApp
from penstock.cli.bench.place import Bare, Place
from penstock.cli.bench.raw import process_pool, thread_pool
from penstock.cli.bench.workers import begin, children, drain_seconds
from penstock.cli.loop import loop_name, new_event_loop
from penstock.cli.output import console
from penstock.store.params import History

ROUNDS = 3
CALLERS = 20
BULK = 10_000
PROBES = 100
BATCHES = {"drain_per_s": 100, "drain_batch_500_per_s": 500}
LAST = 100
"""So many of the last jobs are waited for: children may end them in another order than that of their enqueue."""

Figures = dict[str, list[float]]


class Bench:
    """One run: an app to enqueue with, worker processes to drain with, and the figures so far."""

    def __init__(self, place: Place, jobs: int, processes: int, history: History) -> None:
        self._place = place
        self._jobs = jobs
        self._processes = processes
        self._history: History = history
        self._bench = BenchApp(place.address, history)
        self.figures: Figures = {}

    def parts(self) -> list[tuple[str, Callable[[], None]]]:
        return [
            ("enqueue one by one", self._single),
            (f"enqueue, {CALLERS} callers", self._concurrent),
            (f"enqueue {BULK:,} in bulk", self._bulk),
            ("drain", self._drain_async),
            ("drain, threads", self._drain_threads),
            ("drain, processes", self._drain_processes),
            ("pickup", self._pickup),
        ]

    def note(self, name: str, value: float) -> None:
        self.figures.setdefault(name, []).append(value)

    def _single(self) -> None:
        count = max(200, self._jobs // 20)

        async def one_by_one() -> None:
            for _ in range(count):
                await self._bench.noop.aenqueue(*ARGUMENTS)

        begun = time.perf_counter()
        for _ in range(count):
            self._bench.noop.enqueue(*ARGUMENTS)
        self.note("enqueue_single_per_s", count / (time.perf_counter() - begun))
        self.note("enqueue_single_async_per_s", count / _timed_async(one_by_one))
        self._empty()

    def _concurrent(self) -> None:
        each = max(50, self._jobs // 40)

        async def caller() -> None:
            for _ in range(each):
                await self._bench.noop.aenqueue(*ARGUMENTS)

        async def together() -> None:
            await asyncio.gather(*(caller() for _ in range(CALLERS)))

        self.note("enqueue_concurrent_per_s", each * CALLERS / _timed_async(together))
        self._empty()

    def _bulk(self) -> None:
        begun = time.perf_counter()
        self._bench.app.enqueue_many(self._bench.noop.bind(*ARGUMENTS) for _ in range(BULK))
        self.note("enqueue_bulk_per_s", BULK / (time.perf_counter() - begun))
        self._empty()

    def _drain_async(self) -> None:
        self._bench.app.enqueue_many(self._bench.noop.bind(*ARGUMENTS) for _ in range(self._jobs))
        self.note("drain_per_s", self._jobs / self._drained_in())

    def _drain_threads(self) -> None:
        count = max(1, self._jobs // 4)
        self._bench.app.enqueue_many(self._bench.plain.bind(*ARGUMENTS) for _ in range(count))
        self.note("drain_threads_per_s", count / self._drained_in())

    def _drain_processes(self) -> None:
        """With the children warm, as those of the raw pool are; storing the jobs is part of it."""
        count = max(1, self._jobs // 10)
        with children(self._place.address, "default", self._processes, "processes") as started:
            begin(started)
            self._bench.app.enqueue_many([self._bench.apart()])[0].result(timeout=30)
            begun = time.perf_counter()
            jobs = self._bench.app.enqueue_many(self._bench.apart() for _ in range(count))
            for job in jobs[-LAST:]:
                job.result(timeout=60)
            self.note("drain_processes_per_s", count / (time.perf_counter() - begun))

    def _empty(self) -> None:
        """What a part enqueued must not be measured by the next one."""
        self._drained_in()

    def _drained_in(self) -> float:
        self._place.settle()
        with children(self._place.address, self._history, self._processes, "burst") as started:
            return drain_seconds(started)

    def _pickup(self) -> None:
        """From the call of enqueue to the first line of the handler, in another process that is idle."""
        with children(self._place.address, "default", 1, "serve") as started:
            begin(started)
            for probe in range(PROBES + 5):
                sent = time.time_ns()
                handle = self._bench.probe.enqueue(*ARGUMENTS)
                time.sleep(PROBE_GAP_SECONDS)  # Asking for the result at once would be another load on the store.
                seen = handle.result(timeout=30)
                if probe >= 5:
                    self.note("pickup_ms", (seen - sent) / 1e6)

    def close(self) -> None:
        self._bench.app.close()

    @property
    def settings(self) -> dict[str, Any]:
        info = self._bench.app.store.info
        return {
            "engine": info.engine,
            "library": info.library,
            "durability": info.durability,
            "history": self._history,
            "jobs": self._jobs,
            "processes": self._processes,
            "rounds": ROUNDS,
            "slots": 50,
            "event_loop": loop_name(),
            "python": platform.python_version(),
            **self._place.settings(),
        }


class RawBench:
    """The same parts with the bare driver."""

    def __init__(self, bare: Bare, jobs: int) -> None:
        self._bare = bare
        self._jobs = jobs
        self.figures: Figures = {}

    def note(self, name: str, *values: float) -> None:
        self.figures.setdefault(name, []).extend(values)

    def parts(self) -> list[tuple[str, Callable[[], None]]]:
        """In the order of ours."""
        jobs = self._jobs
        return [
            ("raw: insert one by one", self._single),
            (f"raw: insert, {CALLERS} callers", self._concurrent),
            ("raw: insert in bulk", lambda: self.note("enqueue_bulk_per_s", self._bare.insert_bulk(BULK))),
            ("raw: claim and complete", self._cycles),
            ("raw: thread pool", lambda: self.note("drain_threads_per_s", thread_pool(max(1, jobs // 4)))),
            ("raw: process pool", lambda: self.note("drain_processes_per_s", process_pool(max(1, jobs // 10)))),
            ("raw: pickup", lambda: self.note("pickup_ms", *self._bare.pickup_ms(PROBES))),
        ]

    def _single(self) -> None:
        plain, in_async = self._bare.insert_single(max(200, self._jobs // 20))
        self.note("enqueue_single_per_s", plain)
        self.note("enqueue_single_async_per_s", in_async)

    def _concurrent(self) -> None:
        rate = self._bare.insert_concurrent(CALLERS, max(50, self._jobs // 40))
        if rate is not None:
            self.note("enqueue_concurrent_per_s", rate)

    def _cycles(self) -> None:
        for name, batch in BATCHES.items():
            self.note(name, self._bare.cycle(self._jobs, batch))

    def close(self) -> None:
        self._bare.close()


def _timed_async(work: Callable[[], Any]) -> float:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.get_loop()
        begun = time.perf_counter()
        runner.run(work())
        return time.perf_counter() - begun


def measure(place: Place, jobs: int, processes: int, history: History, raw: bool, quiet: bool) -> dict[str, Any]:
    """All parts, ROUNDS times, ours and the bare driver's in turn."""
    bench = Bench(place, jobs, processes, history)
    bare: RawBench | None = None
    try:
        settings = bench.settings
        bare = RawBench(place.bare(), jobs) if raw else None
        parts = _interleaved(bench.parts(), bare.parts() if bare else [])
        with _progress(quiet) as progress:
            task = progress.add_task("", total=ROUNDS * len(parts))
            for _ in range(ROUNDS):
                for name, part in parts:
                    progress.update(task, description=name)
                    part()
                    progress.advance(task)
        figures = _summary(bench.figures)
        return {**figures, **({"raw": _summary(bare.figures)} if bare else {}), "settings": settings}
    finally:
        bench.close()
        if bare is not None:
            bare.close()


def _interleaved(ours: list[Any], bare: list[Any]) -> list[Any]:
    """Ours and theirs in turn, so that a drift of the machine meets both."""
    mixed: list[Any] = []
    for at in range(max(len(ours), len(bare))):
        mixed += bare[at : at + 1] + ours[at : at + 1]
    return mixed


def _progress(quiet: bool) -> Progress:
    out = console(stderr=True)
    columns = (TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=out, disable=quiet or not out.is_terminal, transient=True)


def _summary(figures: Figures) -> dict[str, float]:
    found = {name: round(statistics.median(values)) for name, values in figures.items() if name != "pickup_ms"}
    times = sorted(figures["pickup_ms"])
    return {
        **found,
        "pickup_ms_p50": round(statistics.median(times), 2),
        "pickup_ms_p99": round(times[min(len(times) - 1, int(len(times) * 0.99))], 2),
    }
