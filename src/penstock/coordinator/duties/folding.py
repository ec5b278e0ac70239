"""Folds the pages of figures into their rows, and lets go of rows that are too old (O11)."""

from __future__ import annotations

import asyncio

from penstock.coordinator.settings import CoordinatorSettings
from penstock.store.contract import FoldFigures, Store

PAGES = 20
"""At once: on SQLite nobody writes meanwhile."""
PAUSE_SECONDS = 0.05


class Folding:
    name = "fold the figures"
    judges = False
    makes_work = False

    def __init__(self, store: Store, settings: CoordinatorSettings) -> None:
        self._store = store
        self.interval = settings.fold_interval

    async def do(self, term: int) -> None:
        while await self._store.fold_figures(FoldFigures(term, PAGES)) >= PAGES:
            await asyncio.sleep(PAUSE_SECONDS)
