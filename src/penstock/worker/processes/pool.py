"""The pool of child processes: for handlers that compute, and for attempts that run isolated. One call at a time each.

The worker's side; child_main.py is the other. A child is spawned, never forked: it imports the app by its name.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.domain.errors import ConfigError
from penstock.worker.liveness.outage import Patience, within
from penstock.worker.processes.frames import Start
from penstock.worker.processes.process import LEAVE_SECONDS, ChildProcess
from penstock.worker.running.run import Ended, Unit

BEGIN_TRIES = 12
"""A first child that is killed before it is ready says nothing about the app: the system may be short of memory for a
while. With the pauses between them, so many tries take half a minute.
"""
IDLE_SECONDS = 30.0
"""A child that was started for isolated attempts leaves after so long without one."""
TROUBLE_SECONDS = 60.0
"""For so long after no child could load the app, none is started for isolated attempts."""

Began = Callable[[Any], None]
Impossible = Callable[[Any, str], None]


class _Call(NamedTuple):
    unit: Unit
    began: Began
    ended: Ended
    impossible: Impossible | None
    """Of an isolated attempt: told when no child can run it."""


class Processes:
    """Never more than `size` children. With `ahead` all are started before there is work, and one that is gone is
    replaced at once; otherwise they are started when there is work, and leave after a while without it.
    """

    def __init__(self, size: int, start: Callable[[], Start], ahead: bool) -> None:
        self._loop = asyncio.get_running_loop()
        self.size = size
        self._make_start = start
        self._start: Start | None = None
        self.ahead = ahead
        self._waiting: deque[_Call] = deque()
        self._idle: list[ChildProcess] = []
        self._children: set[ChildProcess] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._patience = Patience()
        self._closing = False
        self._missing: dict[str, str] = {}
        self._trouble = ""
        self._trouble_until = 0.0
        self._sweeper: asyncio.TimerHandle | None = None
        self.freed_at = self._loop.time()
        """When a call last came to its end."""

    async def open(self) -> None:
        """Start all children that are wanted ahead, and come back when the first is ready: an app that no child can
        load is an error here.
        """
        if not self.ahead:
            return
        first = await self._spawn_first()
        if first.problem is not None:
            await self.close()
            raise ConfigError(f"the process handlers of this app cannot run: {first.problem}")
        self._free(first)
        self._grow()

    async def _spawn_first(self) -> ChildProcess:
        patience = Patience()
        for tried in range(1, BEGIN_TRIES + 1):
            child = await self._spawn()
            if not child.was_killed or tried == BEGIN_TRIES:
                break
            await patience.wait("the first child process could not begin", ConfigError(child.problem or "killed"))
        return child

    def start(self, unit: Unit, began: Began, ended: Ended, impossible: Impossible | None = None) -> None:
        self._waiting.append(_Call(unit, began, ended, impossible))
        self._assign()
        self._grow()

    @property
    def starting(self) -> bool:
        """Whether a child is about to be ready."""
        return bool(self._tasks)

    def cannot(self, name: str) -> str | None:
        """Why no child can run this type, as far as that is known."""
        if self._loop.time() < self._trouble_until:
            return self._trouble
        return self._missing.get(name)

    def held(self, isolated: bool) -> int:
        """How many children are busy with an isolated attempt, or with a process handler; waiting ones of these too."""
        busy = sum(child.unit is not None and child.unit.isolated is isolated for child in self._children)
        return busy if isolated else busy + sum(call.impossible is None for call in self._waiting)

    def give_up(self, unit: Unit) -> None:
        """A child that was killed is still there: let another take its place."""
        for child in self._children:
            if child.unit is unit:
                child.unit = None
                child.retire()

    async def close(self) -> None:
        """Ask the children to leave, and see to it that they do."""
        self._closing = True
        if self._sweeper is not None:
            self._sweeper.cancel()
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

    async def _spawn(self) -> ChildProcess:
        """A new child that is ready, or has a problem."""
        if self._start is None:
            self._start = self._make_start()
        child = ChildProcess(self._loop, self._free, self._grow)
        self._children.add(child)
        try:
            await child.start(self._start)
        except BaseException:
            child.kill()
            raise
        if child.problem is not None:
            child.kill()
        self._missing |= child.missing
        return child

    def _grow(self) -> None:
        """Start as many children as are wanted and not there."""
        busy = sum(child.unit is not None for child in self._children)
        wanted = self.size if self.ahead else min(self.size, busy + len(self._waiting))
        there = sum(child.in_place for child in self._children) + len(self._tasks)
        for _ in range(0 if self._closing else wanted - there):
            task = self._loop.create_task(self._spawn_until_ready())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _spawn_until_ready(self) -> None:
        tries = 0
        while self.ahead or self._waiting:
            tries += 1
            try:
                child = await self._spawn()
            except (OSError, ConfigError) as error:
                if not self.ahead:
                    self._give_up_all(str(error))
                    return
                await self._patience.wait("could not start a child process", error)
                continue
            if child.problem is None:
                self._patience.over()
                self._no_longer_starting()  # From here on the child itself is counted.
                self._free(child)
                return
            if not self.ahead and (not child.was_killed or tries == BEGIN_TRIES):
                self._give_up_all(child.problem)
                return
            await self._patience.wait("a child process could not begin", ConfigError(child.problem))

    def _no_longer_starting(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.discard(task)

    def _give_up_all(self, problem: str) -> None:
        """No child can load the app: what waits for one runs elsewhere, if it can."""
        self._no_longer_starting()
        self._trouble, self._trouble_until = problem, self._loop.time() + TROUBLE_SECONDS
        waiting, self._waiting = self._waiting, deque()
        for call in waiting:
            if call.impossible is not None and not call.unit.over:
                call.impossible(call.unit, problem)

    def _free(self, child: ChildProcess) -> None:
        self.freed_at = child.freed_at = self._loop.time()
        self._idle.append(child)
        self._assign()
        if not self.ahead and self._sweeper is None:
            self._sweeper = self._loop.call_later(IDLE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Let those leave that have had nothing to do for long enough."""
        self._sweeper = None
        now = self._loop.time()
        for child in [child for child in self._idle if child.freed_at <= now - IDLE_SECONDS]:
            self._idle.remove(child)
            child.leave()
            self._loop.call_later(LEAVE_SECONDS, child.kill)
        oldest = min((child.freed_at for child in self._children if child.serving), default=None)
        if oldest is not None and not self._closing:
            self._sweeper = self._loop.call_at(max(now + 1.0, oldest + IDLE_SECONDS), self._sweep)

    def _assign(self) -> None:
        self._children = {child for child in self._children if not child.gone.is_set()}
        self._idle = [child for child in self._idle if child.serving]
        while self._waiting and self._idle:
            unit, began, ended, impossible = self._waiting.popleft()
            if unit.batched:
                unit.runs = [run for run in unit.runs if not run.over]
            elif unit.over:
                continue
            if not unit.runs:
                ended(unit, [], None)
            elif impossible is not None and (why := self._missing.get(unit.runs[0].claim.type)) is not None:
                impossible(unit, why)
            else:
                began(unit)
                self._idle.pop().work(unit, ended)


async def _all_gone(children: list[ChildProcess]) -> None:
    await asyncio.gather(*(within(LEAVE_SECONDS, child.gone) for child in children))
