"""Who leads.

Every worker asks for the lead; the store gives it to one, for a lease that its holder renews three times as often as
it must. Each new holder has a larger term. The others look once a second, or when the lease of the one they know of is
over: one that stops in order gives the lead up before that.

    follower ──the lead is free──▶ leader ──renewed in time──▶ leader
        ▲                             │
        └── refused, or not renewed ──┘

Two safeguards, each enough where the other fails. A leader acts only while its lease cannot have ended, by its own
monotonic clock, from before it asked: so one that was stopped for a while does nothing when it wakes. And whatever a
leader does carries its term, which the store compares in the same transaction: so what was under way when the next took
over is refused (NotLeader). Clocks of machines are not compared: the store's clock decides when the lead is free.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable

from penstock.domain.errors import PenstockError
from penstock.observe.logs import fields
from penstock.observe.redaction import told
from penstock.observe.trouble import Trouble
from penstock.store.contract import Leadership, LeadStore, Store

RENEWALS = 3
"""How often a lease is renewed within its time."""
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.05, 1.0
"""Between two looks of one that does not lead: a lead that was given up is taken by the next look."""

log = logging.getLogger("penstock.coordinator")


class Leader:
    """Asks for the lead until it resigns. `term` is that of this worker while it may act, else None."""

    def __init__(self, store: Store, session: Callable[[], int], worker_id: str, lease: float,
                 kind: str = "worker") -> None:  # fmt: skip
        self._store = store
        self._session = session
        self._worker_id = worker_id
        self._kind = kind
        self._lease = lease
        self._loop = asyncio.get_running_loop()
        self._term: int | None = None
        self._until = 0.0
        self._resigned = False
        self._led_at = self._loop.time()
        self.telling = Trouble(log).part(passing=True)

    @property
    def term(self) -> int | None:
        return self._term if self._loop.time() < self._until else None

    @property
    def unled_seconds(self) -> float:
        """For how long nobody has led, as far as this worker knows."""
        return self._loop.time() - self._led_at

    async def run(self) -> None:
        while not self._resigned:  # Whoever stops has other things to end yet, and must not take the lead back.
            await asyncio.sleep(await self.ask())

    async def ask(self) -> float:
        """Ask once; answers how long to wait before the next time."""
        asked = self._loop.time()
        try:
            found = await self._store.lead_store(LeadStore(self._session(), self._lease))
        except PenstockError as error:
            self.telling.failed("could not ask who leads", error)
            return self._lease / RENEWALS
        self.telling.worked()
        self._note(found, asked)
        if found.acting:
            return self._lease / RENEWALS
        # Not all at once.
        return max(PAUSE_SECONDS_MIN, min(found.free_in, self._lease, PAUSE_SECONDS_MAX)) * (1 + 0.1 * random.random())

    def _note(self, found: Leadership, asked: float) -> None:
        if found.acting or found.free_in > 0:
            self._led_at = asked
        if not found.acting:
            self.step_down()
            return
        if found.term != self._term:
            log.info("%s %s leads, term %d", self._kind, self._worker_id, found.term,
                     extra=fields("leader.elected", worker_id=self._worker_id, term=found.term))  # fmt: skip
        self._term, self._until = found.term, asked + self._lease

    def step_down(self) -> None:
        """Somebody else leads."""
        if self._term is not None:
            log.warning("%s %s no longer leads, term %d", self._kind, self._worker_id, self._term,
                        extra=fields("leader.deposed", worker_id=self._worker_id, term=self._term))  # fmt: skip
        self._term = None

    async def resign(self) -> None:
        """Give the lead up, so that nobody has to wait for the end of the lease."""
        self._resigned = True
        if self._term is None:
            return
        self._term = None
        try:
            await self._store.lead_store(LeadStore(self._session(), None))
        except PenstockError as error:
            log.warning("could not give up the lead: %s", told(error))
