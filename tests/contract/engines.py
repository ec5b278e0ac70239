"""The engines that the contract suite runs on. A new engine is one entry in ENGINES."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from penstock.domain.clock import Clock
from penstock.store.contract import Store
from penstock.store.open import open_store
from tests.postgres.binaries import VERSIONS, Version
from tests.postgres.server import shared

TABLES = (
    "job", "waiting", "lease", "outcome", "history", "unique_key", "worker", "job_type", "audit", "lane", "leader",
    "once", "pause", "gate", "gate_limit", "hold", "permit", "parked",
)  # fmt: skip


@dataclass(frozen=True)
class Engine:
    """`fresh` makes an address at which there is no store, `clean` one at which nothing is stored; `drop` removes it.

    `kind` is what the store itself says it is: several engines to test may be of one kind. `narrow` is what to add to
    the address so that only one transaction of a caller's can be open at a time.
    """

    name: str
    kind: str
    fresh: Callable[[Path], str]
    drop: Callable[[str], None] = lambda address: None
    clean: Callable[[Path], str] | None = None
    narrow: str = ""
    examples: int = 150
    """How many walks against the model are worth their time."""

    def address(self, folder: Path) -> str:
        """Where a test that does not care whether there are tables begins."""
        return (self.clean or self.fresh)(folder)

    def open(self, address: str, clock: Clock) -> Store:
        """A handle to the store. Another handle to the same address acts as another process would."""
        return open_store(address, clock=clock, random=lambda: 0.5)


def postgresql(version: Version) -> Engine:
    """Every test in a schema of its own on one server, emptied and used again: making one takes far longer."""
    emptied: list[str] = []

    def clean(folder: Path) -> str:
        return emptied.pop() if emptied else fresh(folder)

    def fresh(folder: Path) -> str:
        return shared(version).url(schema=f"t_{uuid.uuid4().hex}")

    def drop(address: str) -> None:
        (schema,) = parse_qs(urlsplit(address).query)["schema"]
        found = shared(version).execute(f"SELECT to_regclass('{schema}.job') IS NOT NULL")
        if found == [(True,)]:
            shared(version).execute(
                "SET lock_timeout = '10s'; " + "; ".join(f"DELETE FROM {schema}.{name}" for name in TABLES)
            )
            emptied.append(address)
        shared(version).execute("DROP TABLE IF EXISTS orders")

    examples = 50 if version == max(VERSIONS) else 25
    return Engine(f"postgresql-{version}", "postgresql", fresh, drop, clean, narrow="&pool=1", examples=examples)


ENGINES = [
    Engine("sqlite", "sqlite", fresh=lambda folder: f"sqlite:///{folder}/jobs.db"),
    *map(postgresql, VERSIONS),
]
