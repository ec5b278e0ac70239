"""Running a worker inside of a test: in burst mode to the end, or beside a story that stops it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from penstock import App, JobHandle, State

PATIENCE_SECONDS = 30.0


@contextmanager
def no_child_left() -> Iterator[None]:
    """No process that was started in the block may be left after it, not even as a zombie."""
    before = _children()
    yield
    assert not _children() - before


def _children() -> set[str]:
    """The processes whose parent is this one."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # It has ended meanwhile.
            if stat.read_text().rpartition(")")[2].split()[1] == str(os.getpid()):
                found.add(stat.parent.name)
    return found


def burst(app: App, **settings: Any) -> None:
    """Run everything that is due, and stop."""
    asyncio.run(asyncio.wait_for(app.run_worker(burst=True, **settings), PATIENCE_SECONDS))


def beside_worker(app: App, story: Callable[[], Coroutine[Any, Any, None]], **settings: Any) -> None:
    """Run a worker while the story is told; then stop it in order, as SIGTERM would."""

    async def main() -> None:
        worker = asyncio.ensure_future(app.run_worker(**settings))
        telling = asyncio.ensure_future(story())
        try:
            done, _ = await asyncio.wait({worker, telling}, timeout=PATIENCE_SECONDS, return_when="FIRST_COMPLETED")
            assert telling in done or worker in done, "the story did not end"
            if not worker.done():
                os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(worker, PATIENCE_SECONDS)
        finally:
            telling.cancel()
            worker.cancel()
            await asyncio.wait({telling, worker})
        telling.result()

    asyncio.run(main())


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait for a condition that has no event of its own."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)
    assert condition(), what


async def until_state(job: JobHandle[Any], state: State) -> None:
    """Wait until the store says so."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await job.astate() is not state:
            await asyncio.sleep(0.005)
