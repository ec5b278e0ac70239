"""Tasks that handlers started and forgot: named and cancelled when the worker stops.

A task inherits the context in which it was started, so what handlers start carries the mark of their worker. Other
tasks on the loop, of the program around the worker or of another worker, are nobody's business here.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
from collections.abc import Callable
from typing import Any, TypeVar

LEAK_SECONDS = 2.0

log = logging.getLogger("penstock.worker")

T = TypeVar("T")
_worker: contextvars.ContextVar[object] = contextvars.ContextVar("penstock_worker")


def marked(worker: object, make: Callable[..., T], *args: Any) -> T:
    """Call `make` in a context that carries the mark of this worker; what copies that context carries it on."""
    context = contextvars.copy_context()
    context.run(_worker.set, worker)
    return context.run(make, *args)


async def cancel_leaked_tasks(worker: object) -> None:
    """Cancel what is left of the handlers' own tasks, and say which they were."""
    leaked = {task for task in asyncio.all_tasks() - {asyncio.current_task()} if _carries_mark(task, worker)}
    if not leaked:
        return
    names = sorted({getattr(task.get_coro(), "__qualname__", task.get_name()) for task in leaked})
    log.warning(
        "%d tasks were left running by handlers and are cancelled now: %s; await them, or use asyncio.TaskGroup",
        len(leaked),
        ", ".join(names[:10]),
    )
    for task in leaked:
        task.cancel()
    await asyncio.wait(leaked, timeout=LEAK_SECONDS)


def _carries_mark(task: asyncio.Task[Any], worker: object) -> bool:
    get_context = getattr(task, "get_context", None)
    # Before Python 3.12 a task does not tell its context, but the garbage collector knows what it holds.
    held = [get_context()] if get_context is not None else gc.get_referents(task)
    return any(isinstance(item, contextvars.Context) and item.get(_worker) is worker for item in held)
