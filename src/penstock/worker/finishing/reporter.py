"""Tells the store, a few times a second, which attempts have begun and how far they are.

An attempt that begins and ends within one tick needs no word of its own: its outcome carries both times. While a
handler blocks the event loop a thread tells of the starts; otherwise what runs would be given to others as never begun.
"""

from __future__ import annotations

import asyncio
import logging
import time

from penstock.domain.errors import PenstockError
from penstock.store.contract import SaveProgress, StartJobs, Store
from penstock.worker.executors import Executors
from penstock.worker.running.run import Run

TICK_SECONDS = 0.1
PROGRESS_TICKS = 5
AGAIN_SECONDS = 5.0
"""So long after the first time, a start is told again. The store does not wait for the disk with it, so a crash of its
server may have undone it; then the job would be taken from this worker as never begun, while it runs.
"""
TOLD_TIMES = 2
QUIET_SECONDS = 1.0
"""For so long after an error nothing is told while the loop is blocked."""

log = logging.getLogger("penstock.worker")


class Reporter:
    """Marks started attempts every tick and stores new progress every fifth."""

    def __init__(self, store: Store, executors: Executors) -> None:
        self._store = store
        self._executors = executors
        self._quiet_until = 0.0
        self._told_ended: set[int] = set()
        """Those that have ended while the loop was blocked, of whose start the store was told."""
        self._telling = executors.trouble.part(passing=True)

    async def run(self) -> None:
        ticks = 0
        while True:
            await asyncio.sleep(TICK_SECONDS)
            ticks += 1
            self._told_ended.clear()
            try:
                await self._mark_started()
                if ticks % PROGRESS_TICKS == 0:
                    await self._save_progress()
            except PenstockError as error:
                self._telling.failed("could not report running jobs", error)

    def _runs(self) -> list[Run]:
        """Not those whose completion is in a transaction of their own: a word of them would wait for its end."""
        return [run for run in self._executors.runs() if run.finished_in is None]

    def _begun(self, now: float) -> list[Run]:
        """Those of whose start the store is to be told."""
        before = now - TICK_SECONDS / 2
        return [
            run
            for run in self._runs()
            if run.told < TOLD_TIMES and not run.waiting and run.started + run.told * AGAIN_SECONDS < before
        ]

    async def _mark_started(self) -> None:
        begun = self._begun(asyncio.get_running_loop().time())
        if begun:
            await self._store.start_jobs(StartJobs(_starts(begun)))
            self._telling.worked()
            for run in begun:
                run.told += 1

    def mark_started_meanwhile(self) -> None:
        """From a thread, while the loop is blocked. Also of those that are next on the loop, or have ended and wait for
        it with their outcome: nobody else may have them.
        """
        now = time.monotonic()
        if now < self._quiet_until:
            return
        begun = self._begun(now)
        ended = [(token, at) for token, at in self._executors.finisher.starts() if token not in self._told_ended]
        if not begun and not ended:
            return
        try:
            lost = self._store.start_jobs(StartJobs([*_starts(begun), *ended])).wait()
            self._telling.worked()
            self._told_ended |= {token for token, _ in ended}
            for run in begun:
                run.told += 1
                run.disowned = run.claim.token in lost
        except PenstockError as error:
            self._quiet_until = now + QUIET_SECONDS
            self._telling.failed("could not report running jobs", error)

    async def _save_progress(self) -> None:
        news = [(run, text) for run in self._runs() if (text := run.progress) is not None and text != run.reported]
        if news:
            await self._store.save_progress(SaveProgress([(run.claim.token, text) for run, text in news]))
            self._telling.worked()
            for run, text in news:
                if not run.over:  # One that has ended meanwhile has told its last progress itself.
                    self._executors.outcomes.progressed(run, text)


def _starts(runs: list[Run]) -> list[tuple[int, int]]:
    return [(run.claim.token, run.started_us) for run in runs]
