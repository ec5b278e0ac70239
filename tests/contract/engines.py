"""The engines that the contract suite runs on. A new engine is one entry in ENGINES."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.domain.clock import Clock
from penstock.store.contract import Store
from penstock.store.open import open_store


@dataclass(frozen=True)
class Engine:
    """`fresh` makes an address at which nothing is stored yet; `drop` removes what was stored there."""

    name: str
    fresh: Callable[[Path], str]
    drop: Callable[[str], None] = lambda address: None

    def open(self, address: str, clock: Clock) -> Store:
        """A handle to the store. Another handle to the same address acts as another process would."""
        return open_store(address, clock=clock, random=lambda: 0.5)


ENGINES = [
    Engine("sqlite", fresh=lambda folder: f"sqlite:///{folder}/jobs.db"),
]
