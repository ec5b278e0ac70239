"""Calls the hooks of handler classes: in order, bounded in time, and without a say in the outcome (SPEC J1)."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
from collections.abc import Callable
from typing import Any

from penstock.worker.context import Context, running
from penstock.worker.run import Run

HOOK_SECONDS = 30.0

log = logging.getLogger("penstock.worker")


class HookCalls:
    """The hooks that are being called. Those of one attempt follow each other; `failed` counts those that raised."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[None]] = set()
        self.failed = 0

    def call(self, run: Run, name: str, *args: Any) -> None:
        """Call this hook if the handler has it."""
        if name in run.plan.declaration.hooked:
            self._start(run, name, args, None)

    def before(self, run: Run, then: Callable[[Run], None]) -> None:
        """Call the start hook, and go on when it is over."""
        run.waiting = True
        self._start(run, "on_start", (), then)

    async def finish(self) -> None:
        """Wait for the hooks that are still being called; each has its own limit."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=HOOK_SECONDS)
        for task in self._tasks:
            task.cancel()

    def _start(self, run: Run, name: str, args: tuple[Any, ...], then: Callable[[Run], None] | None) -> None:
        context = contextvars.copy_context()
        context.run(running.set, run)
        task = run.hook = self._loop.create_task(self._follow(run.hook, run, name, args, then), context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(
        self,
        previous: asyncio.Task[None] | None,
        run: Run,
        name: str,
        args: tuple[Any, ...],
        then: Callable[[Run], None] | None,
    ) -> None:
        if previous is not None:
            await asyncio.wait({previous})
        await self._call(run, name, args)
        if then is not None and not run.over:
            then(run)

    async def _call(self, run: Run, name: str, args: tuple[Any, ...]) -> None:
        hook = getattr(run.plan.declaration.hooks, name)
        try:
            async with asyncio.timeout(HOOK_SECONDS):
                if inspect.iscoroutinefunction(hook):
                    await hook(Context(run), *args)
                else:
                    await asyncio.to_thread(hook, Context(run), *args)
        except Exception:
            self.failed += 1
            log.exception("the hook %s of %s raised; the job's outcome does not depend on it", name, run.describe())
