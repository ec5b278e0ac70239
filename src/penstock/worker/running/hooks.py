"""Calls the hooks of handler classes: in order, bounded in time, and without a say in the outcome (J1)."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from penstock.domain.current_call import running
from penstock.domain.job import Progress
from penstock.observe.redaction import log_error
from penstock.worker.running.context import Context
from penstock.worker.running.run import Run

HOOK_SECONDS = 30.0
# At a stop: with the time that jobs have to finish, it must fit into the grace that supervisors commonly give.
LAST_HOOKS_SECONDS = 10.0
THREADS_MAX = 32

log = logging.getLogger("penstock.worker")


class HookCalls:
    """The hooks that are being called. Those of one attempt follow each other.

    `failed` counts those that raised or took too long.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._tasks: set[asyncio.Task[None]] = set()
        self._threads = asyncio.Semaphore(THREADS_MAX)
        self.failed = 0

    def call(self, run: Run, name: str, *args: Any) -> None:
        """Call this hook if the handler has it."""
        if name in run.plan.declaration.hooked:
            self._start(run, lambda: self._call(run, name, args))

    def before(self, run: Run, then: Callable[[Run], None]) -> None:
        """Call the start hook, and go on when it is over."""

        async def start() -> None:
            await self._call(run, "on_start", ())
            if not run.over:
                then(run)

        run.waiting = True
        self._start(run, start)

    def tell_progress(self, run: Run, progress: Progress) -> None:
        """Call the progress hook. While an earlier call has not begun, that one is given the newest."""

        async def tell() -> None:
            newest, run.news = run.news, None
            await self._call(run, "on_progress", (newest,))

        told_later, run.news = run.news is not None, progress
        if not told_later:
            self._start(run, tell)

    async def finish(self) -> None:
        """Wait for the hooks that are still being called, but not for long."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(self._tasks, timeout=LAST_HOOKS_SECONDS)
        if late:
            self.failed += len(late)
            log.error("%d hooks were not over %g s after the last job and were given up", len(late), LAST_HOOKS_SECONDS)
        for task in late:
            task.cancel()

    def _start(self, run: Run, calling: Callable[[], Coroutine[Any, Any, None]]) -> None:
        context = contextvars.copy_context()
        context.run(running.set, run)
        task = run.hook = self._loop.create_task(_following(run.hook, calling), context=context)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call(self, run: Run, name: str, args: tuple[Any, ...]) -> None:
        """Call it, and go on without it when it takes too long, whatever it makes of being cancelled."""
        hook = self._loop.create_task(self._error_of(getattr(run.plan.declaration.hooks, name), Context(run), *args))
        try:
            done, _ = await asyncio.wait({hook}, timeout=HOOK_SECONDS)
        finally:
            hook.cancel()
        error = hook.result() if done else TimeoutError(f"it took longer than {HOOK_SECONDS:g} s")
        if error is not None:
            self.failed += 1
            log_error(log, logging.ERROR, error, "the hook %s of %s raised; the job's outcome does not depend on it",
                      name, run.describe())  # fmt: skip

    async def _error_of(self, hook: Callable[..., Any], *args: Any) -> BaseException | None:
        """What the hook raised, be it an exit: nothing that it does may end the worker."""
        try:
            answer = hook(*args) if inspect.iscoroutinefunction(hook) else await self._in_thread(hook, *args)
            if inspect.isawaitable(answer):
                await answer
        except BaseException as error:
            return error
        return None

    async def _in_thread(self, hook: Callable[..., Any], *args: Any) -> Any:
        """A daemon thread for one call: one that hangs keeps neither other hooks nor the process from ending."""
        async with self._threads:
            ended: asyncio.Future[tuple[Any, BaseException | None]] = self._loop.create_future()
            run = contextvars.copy_context().run
            threading.Thread(target=run, args=(_work, ended, hook, args), name="penstock-hook", daemon=True).start()
            answer, error = await ended
        if error is not None:
            raise error
        return answer


async def _following(previous: asyncio.Task[None] | None, calling: Callable[[], Coroutine[Any, Any, None]]) -> None:
    if previous is not None:
        await asyncio.wait({previous})
    await calling()


def _work(ended: asyncio.Future[tuple[Any, BaseException | None]], hook: Callable[..., Any], args: Any) -> None:
    outcome: tuple[Any, BaseException | None]
    try:
        outcome = hook(*args), None
    except BaseException as error:
        outcome = None, error
    try:
        ended.get_loop().call_soon_threadsafe(_settle, ended, outcome)
    except RuntimeError:
        pass  # The loop is closed: the worker has stopped without this hook.


def _settle(ended: asyncio.Future[tuple[Any, BaseException | None]], outcome: tuple[Any, BaseException | None]) -> None:
    if not ended.done():
        ended.set_result(outcome)
