"""Runs the next attempt of a job that has taken its worker along: in a child process of its own (SPEC F3).

What happens to that process harms no other job. An app that a child process cannot import has nothing to isolate with;
its jobs run among the others, and that is said.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from penstock.domain.errors import ConfigError
from penstock.observe.redaction import told
from penstock.worker.frames import Start
from penstock.worker.processes import Began, Processes
from penstock.worker.run import Unit
from penstock.worker.spawned import Ended

log = logging.getLogger("penstock.worker")


class Isolation:
    """`start_of` makes the first word to a child for these types, or says why there can be none (ConfigError)."""

    def __init__(self, start_of: Callable[[str], Start]) -> None:
        self._start_of = start_of
        self._pools: dict[Unit, Processes] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, unit: Unit, began: Began, ended: Ended, among_others: Callable[[Unit], None]) -> None:
        task = asyncio.get_running_loop().create_task(self._run(unit, began, ended, among_others))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, unit: Unit, began: Began, ended: Ended, among_others: Callable[[Unit], None]) -> None:
        first = unit.runs[0]
        try:
            pool = Processes(1, self._start_of(first.claim.type))
            await pool.open()
        except (ConfigError, OSError) as error:
            log.warning("%s crashed before and cannot be isolated: %s", first.describe(), told(error))
            if not unit.over:
                among_others(unit)
            return
        log.info("%s crashed before: it runs in a process of its own", first.describe())
        self._pools[unit] = pool
        over = asyncio.Event()

        def end(unit: Any, result: Any, error: BaseException | None) -> None:
            over.set()
            ended(unit, result, error)

        try:
            pool.start(unit, began, end)
            if not unit.over:
                await over.wait()
        finally:
            del self._pools[unit]
            await pool.close()

    def give_up(self, unit: Unit) -> None:
        """Its child was killed and is still there: nobody waits for it."""
        if unit in self._pools:
            self._pools[unit].give_up(unit)

    async def close(self) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
