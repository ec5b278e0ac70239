"""Stores outcomes in batches: at once when idle, and whatever gathers while the last batch is on its way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection

from penstock.domain.errors import CommitUncertain, StoreError
from penstock.store.contract import Store
from penstock.store.params import Completed, FinishJobs, History, NewJob, Unfinished
from penstock.worker.outage import FATAL, Patience

log = logging.getLogger("penstock.worker")


class Finisher:
    """Holds outcomes until they are stored. Nothing is reported as done before that."""

    def __init__(self, store: Store, history: History, failed: Callable[[BaseException], None]) -> None:
        self._store = store
        self._history: History = history
        self._failed = failed
        self._completed: list[Completed] = []
        self._unfinished: list[Unfinished] = []
        self._follow_ups: list[tuple[int, NewJob]] = []
        self._after: list[tuple[int, Callable[[], None]]] = []
        self._wake = asyncio.Event()
        self._flushed = asyncio.Event()
        self._flushed.set()
        self.lost = 0

    def completed(self, done: Completed, follow_ups: list[tuple[int, NewJob]]) -> None:
        self._completed.append(done)
        if follow_ups:
            self._follow_ups += follow_ups
        self._wake.set()

    def unfinished(self, end: Unfinished) -> None:
        self._unfinished.append(end)
        self._wake.set()

    def after(self, token: int, then: Callable[[], None]) -> None:
        """Call `then` when the outcome of this token, which is handed in next, is stored; never if it is refused."""
        self._after.append((token, then))

    @property
    def waiting(self) -> int:
        """Outcomes that are not stored yet."""
        return len(self._completed) + len(self._unfinished)

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            self._flushed.clear()
            batch = FinishJobs(self._completed, self._unfinished, self._follow_ups, self._history)
            after, self._after = self._after, []
            self._completed, self._unfinished, self._follow_ups = [], [], []
            if batch.completed or batch.unfinished:
                lost = await self._store_batch(batch)
                for token, then in after:
                    if token not in lost:
                        then()
            if not self.waiting:
                self._flushed.set()

    async def _store_batch(self, batch: FinishJobs) -> Collection[int]:
        """Try until the store has it: an outage of the store loses no outcome. Answers the tokens that were lost."""
        patience = Patience()
        sent_before = False
        while True:
            try:
                lost = await self._store.finish_jobs(batch)
                break
            except StoreError as error:
                if isinstance(error, FATAL):
                    self._failed(error)
                    return {*(done.token for done in batch.completed), *(end.token for end in batch.unfinished)}
                sent_before = sent_before or isinstance(error, CommitUncertain)
                await patience.wait(
                    f"outcomes of {len(batch.completed) + len(batch.unfinished)} jobs not stored yet", error
                )
        if sent_before:
            return ()  # Those that look lost were stored by the first try.
        if lost:
            self.lost += len(lost)
            log.warning("%d outcomes were refused: their jobs had been taken from this worker", len(lost))
        return lost

    async def flush(self) -> None:
        """Wait until everything handed in so far is stored."""
        while self.waiting or not self._flushed.is_set():
            await self._flushed.wait()
            await asyncio.sleep(0)
