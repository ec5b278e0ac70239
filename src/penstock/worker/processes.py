"""The pool of child processes for handlers that compute: started ahead, one call at a time each, replaced when gone.

The worker's side; child.py is the other. A child is spawned, never forked: it imports the app by its module's name.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from penstock.domain.errors import ConfigError
from penstock.worker.frames import Start
from penstock.worker.outage import Patience
from penstock.worker.run import Unit
from penstock.worker.spawned import LEAVE_SECONDS, Child, Ended

BEGIN_TRIES = 12
"""A first child that is killed before it is ready says nothing about the app: the system may be short of memory for a
while. With the pauses between them, so many tries take half a minute.
"""

Began = Callable[[Any], None]


class Processes:
    """`size` children. Calls wait in line for a free one; a child that is gone is replaced at once."""

    def __init__(self, size: int, start: Start) -> None:
        self._loop = asyncio.get_running_loop()
        self._size = size
        self._start = start
        self._waiting: deque[tuple[Unit, Began, Ended]] = deque()
        self._idle: list[Child] = []
        self._children: set[Child] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._patience = Patience()
        self._closing = False

    async def open(self) -> None:
        """Start all children, and come back when the first is ready: an app that no child can load is an error here."""
        first = await self._spawn_first()
        if first.problem is not None:
            await self.close()
            raise ConfigError(f"the process handlers of this app cannot run: {first.problem}")
        self._free(first)
        for _ in range(self._size - 1):
            self._replace()

    async def _spawn_first(self) -> Child:
        patience = Patience()
        for tried in range(1, BEGIN_TRIES + 1):
            child = await self._spawn()
            if not child.was_killed or tried == BEGIN_TRIES:
                break
            await patience.wait("the first child process could not begin", ConfigError(child.problem or "killed"))
        return child

    def start(self, unit: Unit, began: Began, ended: Ended) -> None:
        self._waiting.append((unit, began, ended))
        self._assign()

    def give_up(self, unit: Unit) -> None:
        """A child that was killed is still there: let another take its place."""
        for child in self._children:
            if child.unit is unit:
                child.unit = None
                child.retire()

    async def close(self) -> None:
        """Ask the children to leave, and see to it that they do."""
        self._closing = True
        for task in self._tasks:
            task.cancel()
        children = list(self._children)
        for child in children:
            child.leave()
        await _all_gone(children)
        for child in children:
            child.kill()
        await _all_gone(children)

    # The children

    async def _spawn(self) -> Child:
        """A new child that is ready, or has a problem."""
        child = Child(self._loop, self._free, self._replace)
        self._children.add(child)
        try:
            await child.start(self._start)
        except BaseException:
            child.kill()
            raise
        if child.problem is not None:
            child.kill()
        return child

    def _replace(self) -> None:
        if not self._closing:
            task = self._loop.create_task(self._spawn_until_ready())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _spawn_until_ready(self) -> None:
        while True:
            try:
                child = await self._spawn()
            except OSError as error:
                await self._patience.wait("could not start a child process", error)
                continue
            if child.problem is None:
                self._patience.over()
                self._free(child)
                return
            await self._patience.wait("a child process could not begin", ConfigError(child.problem))

    def _free(self, child: Child) -> None:
        self._idle.append(child)
        self._assign()

    def _assign(self) -> None:
        self._children = {child for child in self._children if not child.gone.is_set()}
        self._idle = [child for child in self._idle if child.serving]
        while self._waiting and self._idle:
            unit, began, ended = self._waiting.popleft()
            if unit.batched:
                unit.runs = [run for run in unit.runs if not run.over]
            elif unit.over:
                continue
            if unit.runs:
                began(unit)
                self._idle.pop().work(unit, ended)
            else:
                ended(unit, [], None)


async def _all_gone(children: list[Child]) -> None:
    try:
        async with asyncio.timeout(LEAVE_SECONDS):
            for child in children:
                await child.gone.wait()
    except TimeoutError:
        pass
