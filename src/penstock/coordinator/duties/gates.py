"""Looks after limits: jobs that nobody would let through any more, and what is left of keys that nobody uses."""

from __future__ import annotations

from penstock.coordinator.settings import CoordinatorSettings
from penstock.store.contract import Store, TendGates

ROUNDS = 12
"""Only a hand in the tables makes what is looked for so rarely: once a minute, and when somebody begins to lead."""


class GateTending:
    name = "look after limits"
    judges = False
    makes_work = True

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self.interval = settings.recovery_interval
        self._round = 0

    async def do(self, term: int) -> None:
        await self._store.tend_gates(TendGates(term, mend=self._round == 0))
        self._round = (self._round + 1) % ROUNDS
