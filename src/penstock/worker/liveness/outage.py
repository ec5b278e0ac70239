"""Riding out a store that does not answer: patience that grows, and errors that no patience will mend."""

from __future__ import annotations

import asyncio
import logging
import random

from penstock.domain import errors
from penstock.observe.trouble import Part, Trouble

FATAL = (
    errors.StoreGone,
    errors.StoreClosed,
    errors.StoreForked,
    errors.StoreVersionError,
    errors.NotAStore,
    errors.UnsafeSQLite,
    errors.StoreReadOnly,
)
SECONDS_MIN, SECONDS_MAX = 0.1, 5.0

log = logging.getLogger("penstock.worker")


class Patience:
    """Waits longer each time, with jitter, and says why, as one part of a trouble: that is not told each time."""

    def __init__(self, part: Part | None = None) -> None:
        self._part = part or Trouble(log, "it still fails", "it works again").part()
        self._seconds = SECONDS_MIN

    def over(self, note: str = "") -> None:
        """It worked: the next time begins anew."""
        self._seconds = SECONDS_MIN
        self._part.worked(note)

    async def wait(self, what: str, error: BaseException, hint: asyncio.Event | None = None) -> None:
        """Wait; with a `hint`, no longer than until there is one: then the store answers somebody."""
        self._part.failed(what, error)
        pause = self._seconds * (0.5 + random.random())
        self._seconds = min(self._seconds * 2, SECONDS_MAX)
        if hint is None:
            await asyncio.sleep(pause)
            return
        await asyncio.sleep(min(pause, SECONDS_MIN))
        await within(max(0.0, pause - SECONDS_MIN), hint)


async def within(seconds: float | None, event: asyncio.Event) -> bool:
    """Wait for the event, and answer whether it came in time."""
    try:
        # Not wait_for(): before Python 3.12 it can swallow a cancellation that comes together with the event.
        async with asyncio.timeout(seconds):
            return await event.wait()
    except TimeoutError:
        return False
