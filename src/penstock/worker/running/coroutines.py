"""Runs async handlers on the event loop, each in a context of its own.

A handler that never has to wait needs no task of its own: one task runs such handlers one after another.
As soon as a handler waits, the task is its own until its end, so that whatever is tied to the current task
(timeouts, scoped sessions) is never shared by two jobs that do any waiting.
"""

from __future__ import annotations

import asyncio
import contextvars
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from penstock.domain.current_call import running
from penstock.worker.running.context import context_of
from penstock.worker.running.run import Ended, StopReason, Unit

SLICE_SECONDS = 0.002

Handler = Coroutine[Any, Any, Any]


class Coroutines:
    """The queue of begun runs, and the tasks that take their first steps."""

    def __init__(self, loop: asyncio.AbstractEventLoop, done: Ended) -> None:
        self._loop = loop
        self._done = done
        self._clean = contextvars.copy_context()
        self._queue: deque[Unit] = deque()
        self._servers = 0

    def start(self, run: Unit) -> None:
        self._queue.append(run)
        if not self._servers:
            self._add_servers(1)

    def _add_servers(self, count: int) -> None:
        for _ in range(count):
            self._servers += 1
            # A fresh context: a server is often started at the end of a job, in whose context it must not live.
            _ = self._loop.create_task(self._serve(), context=self._clean.copy())

    async def _serve(self) -> None:
        """Take first steps until a handler waits, the time slice is over, or nothing is left."""
        task = asyncio.current_task()
        assert task is not None
        end = self._loop.time() + SLICE_SECONDS
        while self._queue:
            run = self._queue.popleft()
            if run.over:
                continue
            if run.disowned:
                self._refuse(run)
                continue
            run.interrupt = task.cancel
            context = self._clean.copy()
            handler: Handler | None = None
            try:
                context.run(running.set, run)
                handler = context.run(run.call, context_of)
                awaited = context.run(handler.send, None)
            except StopIteration as stop:
                self._done(run, stop.value if handler is not None else None, None if handler is not None else stop)
            except BaseException as error:
                self._done(run, None, error)
            else:
                self._servers -= 1
                self._add_servers(len(self._queue) - self._servers)
                await self._rest(run, handler, awaited, context)
                return
            if self._loop.time() >= end or task.cancelling():
                break
        self._servers -= 1
        if self._queue and not self._servers:
            self._add_servers(1)

    def _refuse(self, run: Unit) -> None:
        """The loop was blocked between its begin and its first step, and meanwhile it was given to another."""
        for one in run.runs:
            one.stop = StopReason.LOST
        self._done(run, None, None)

    async def _rest(self, run: Unit, handler: Handler, awaited: Any, context: contextvars.Context) -> None:
        try:
            result = await _resume(handler, awaited, context)
        except BaseException as error:
            self._done(run, None, error)
        else:
            self._done(run, result, None)


@types.coroutine
def _resume(handler: Handler, awaited: Any, context: contextvars.Context) -> Generator[Any, Any, Any]:
    """Go on with a coroutine that has already waited once, every step in its own context."""
    step: Callable[[Any], Any]
    while True:
        try:
            value = yield awaited
            step = handler.send
        except BaseException as error:
            value, step = error, handler.throw
        try:
            awaited = context.run(step, value)
        except StopIteration as stop:
            return stop.value
