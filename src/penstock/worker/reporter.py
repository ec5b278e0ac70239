"""Tells the store, a few times a second, which attempts have begun and how far they are.

An attempt that begins and ends within one tick needs no word of its own: its outcome carries both times.
"""

from __future__ import annotations

import asyncio
import logging

from penstock.domain.errors import PenstockError
from penstock.store.contract import Store
from penstock.store.params import SaveProgress, StartJobs
from penstock.worker.crew import Crew
from penstock.worker.run import Run

TICK_SECONDS = 0.1
PROGRESS_TICKS = 5
AGAIN_SECONDS = 5.0
"""So long after the first time, a start is told again. The store does not wait for the disk with it, so a crash of its
server may have undone it; then the job would be taken from this worker as never begun, while it runs.
"""
TOLD_TIMES = 2

log = logging.getLogger("penstock.worker")


class Reporter:
    """Marks started attempts every tick and stores new progress every fifth."""

    def __init__(self, store: Store, crew: Crew) -> None:
        self._store = store
        self._crew = crew

    async def run(self) -> None:
        ticks = 0
        while True:
            await asyncio.sleep(TICK_SECONDS)
            ticks += 1
            try:
                await self._mark_started()
                if ticks % PROGRESS_TICKS == 0:
                    await self._save_progress()
            except PenstockError as error:
                log.warning("could not report running jobs: %s", error)

    def _runs(self) -> list[Run]:
        """Not those whose completion is in a transaction of their own: a word of them would wait for its end."""
        return [run for run in self._crew.runs() if run.finished_in is None]

    async def _mark_started(self) -> None:
        before = asyncio.get_running_loop().time() - TICK_SECONDS / 2
        begun = [
            run
            for run in self._runs()
            if run.told < TOLD_TIMES and not run.waiting and run.started + run.told * AGAIN_SECONDS < before
        ]
        if begun:
            await self._store.start_jobs(StartJobs([(run.claim.token, run.started_us) for run in begun]))
            for run in begun:
                run.told += 1

    async def _save_progress(self) -> None:
        news = [(run, text) for run in self._runs() if (text := run.progress) is not None and text != run.reported]
        if news:
            await self._store.save_progress(SaveProgress([(run.claim.token, text) for run, text in news]))
            for run, text in news:
                if not run.over:  # One that has ended meanwhile has told its last progress itself.
                    self._crew.outcomes.progressed(run, text)
