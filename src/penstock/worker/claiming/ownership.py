"""Whether what was claimed ahead is still this worker's.

What is held and not begun may be given to others: by the start timeout, or because this worker was called lost. The
store tells of it within moments, but not while the event loop is blocked. So when nothing could begin here for a while,
or a claim was answered late, the store is asked before anything of it begins; and it is told of those that are next, so
that nobody else gets them in the meantime.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from penstock.domain.errors import StoreError
from penstock.store.contract import ReadSignals, StartJobs, Store
from penstock.worker.liveness.outage import FATAL, Patience

SURE_SECONDS = 2.0


class Ownership:
    """`held` are the tokens of what has not begun, and the starts of those that are next. `settled` is told which of
    them are lost, and may go on.
    """

    def __init__(
        self,
        store: Store,
        held: Callable[[], tuple[list[int], list[tuple[int, int]]]],
        settled: Callable[[list[int]], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._store = store
        self._held = held
        self._settled = settled
        self._failed = failed
        self._sure = self._loop.time()
        self._asking: asyncio.Task[None] | None = None
        self._more = False
        """Whether something came while the store was asked, which it was not asked of."""

    def take(self, asked: float, alone: bool) -> None:
        """What was asked for at this moment is held now; `alone`, if nothing else is."""
        self._sure = asked if alone else min(self._sure, asked)
        self._more = True

    def in_doubt(self, now: float) -> bool:
        """Whether nothing may begin now. Asked whenever something could, so that the time since tells of a block."""
        if now - self._sure > SURE_SECONDS and self._asking is None:
            self._asking = self._loop.create_task(self._ask())
        self._sure = now
        return self._asking is not None

    async def _ask(self) -> None:
        patience = Patience()
        while True:
            asked, self._more = self._loop.time(), False
            try:
                lost = await self._lost()
                blocked = self._loop.time() - asked > SURE_SECONDS  # Then this may be old.
                if not (blocked or self._more):
                    break
            except StoreError as error:
                if isinstance(error, FATAL):
                    self._failed(error)
                    return
                await patience.wait("could not ask which jobs are still held", error)
        self._asking, self._sure = None, self._loop.time()
        self._settled(lost)

    async def _lost(self) -> list[int]:
        tokens, starts = self._held()
        if starts:
            await self._store.start_jobs(StartJobs(starts))
        return (await self._store.read_signals(ReadSignals(0, tokens))).lost

    def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
