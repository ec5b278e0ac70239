"""Tasks that handlers started and forgot: named and cancelled when the worker stops."""

from __future__ import annotations

import asyncio
import logging

LEAK_SECONDS = 2.0

log = logging.getLogger("penstock.worker")


def remember_tasks() -> set[asyncio.Task[object]]:
    """The tasks that exist before a worker starts; they belong to the caller."""
    return set(asyncio.all_tasks())


async def cancel_leaked_tasks(before: set[asyncio.Task[object]]) -> None:
    """Cancel what is left of the handlers' own tasks, and say which they were."""
    leaked = asyncio.all_tasks() - before - {asyncio.current_task()}
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
