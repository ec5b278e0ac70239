"""The same parts with the bare driver, in the order of ours and in the same sizes."""

from __future__ import annotations

from penstock.bench import parts
from penstock.bench.figures import PICKUPS, Record
from penstock.bench.fresh_store import Bare
from penstock.bench.parts import Part
from penstock.bench.raw import process_pool, thread_pool

BATCHES = {"drain_per_s": 100, "drain_batch_500_per_s": 500}


class RawBench(Record):
    """A bare table beside the store under test, and the figures so far."""

    def __init__(self, bare: Bare, jobs: int) -> None:
        super().__init__()
        self._bare = bare
        self._jobs = jobs

    def parts(self) -> list[Part]:
        return [
            ("raw: insert one by one", self._single),
            (f"raw: insert, {parts.CALLERS} callers", self._concurrent),
            ("raw: insert in bulk", lambda: self.note("enqueue_bulk_per_s", self._bare.insert_bulk(parts.BULK))),
            ("raw: claim and complete", self._cycles),
            ("raw: thread pool", lambda: self.note("drain_threads_per_s", thread_pool(parts.in_threads(self._jobs)))),
            ("raw: process pool", self._processes),
            ("raw: pickup", lambda: self.note(PICKUPS, *self._bare.pickup_ms(parts.PROBES))),
        ]

    def close(self) -> None:
        self._bare.close()

    def _single(self) -> None:
        plain, in_async = self._bare.insert_single(parts.singles(self._jobs))
        self.note("enqueue_single_per_s", plain)
        self.note("enqueue_single_async_per_s", in_async)

    def _concurrent(self) -> None:
        rate = self._bare.insert_concurrent(parts.CALLERS, parts.each_caller(self._jobs))
        if rate is not None:
            self.note("enqueue_concurrent_per_s", rate)

    def _cycles(self) -> None:
        for name, batch in BATCHES.items():
            self.note(name, self._bare.cycle(self._jobs, batch))

    def _processes(self) -> None:
        self.note("drain_processes_per_s", process_pool(parts.in_processes(self._jobs)))
