"""The faults by name, with the row of the fault table that each one is for."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass

from tests.chaos.places import ENGINES, EngineName
from tests.chaos.stage import Stage

ROWS = {
    1: "a worker is killed at random",
    2: "a worker dies at an exact point",
    3: "a zombie: stopped past its lease, and continued",
    4: "an orderly stop in the middle of jobs",
    5: "a client is killed while it enqueues",
    6: "PostgreSQL crashes",
    7: "connections are killed",
    8: "the answer to a commit is lost",
    9: "a silent black hole",
    10: "one worker is cut off; the network is slow",
    11: "a long transaction is open while jobs churn",
    12: "notifications are lost or off",
    13: "many processes on one SQLite file",
    14: "power loss under SQLite",
    15: "the disk is full",
    16: "clocks jump",
    17: "the event loop is blocked",
    18: "poison, huge and odd payloads",
    19: "a child process dies",
    20: "the leader dies, or is stopped and continued",
    21: "a job is cancelled or deleted while it runs",
    22: "old and new code on one schema",
    23: "all of it at once",
    24: "a backup is restored",
    25: "a replica takes over",
    26: "tables are rewritten under load",
    27: "the file is copied under load",
    28: "two mount namespaces on one volume",
    29: "the whole machine is paused",
}

ELSEWHERE = {
    14: "tests/store/sqlite/test_power_loss.py",
}
"""Rows that need no processes of their own, and are proved where the file is in reach."""


@dataclass(frozen=True)
class Fault:
    """`run` does all of it, on a stage that is ready. `short` and `full`: the engines where that size is worth it."""

    name: str
    row: int
    run: Callable[[Stage], None]
    engines: tuple[EngineName, ...]
    short: tuple[EngineName, ...]
    full: tuple[EngineName, ...]
    rare: bool = False
    """What people do to databases, and seldom: in `make test-long` alone."""

    @property
    def story(self) -> str:
        return (self.run.__doc__ or "").partition("\n")[0]


FAULTS: dict[str, Fault] = {}


def fault(
    row: int,
    *,
    engines: tuple[EngineName, ...] = ENGINES,
    name: str = "",
    short: tuple[EngineName, ...] | None = None,
    full: tuple[EngineName, ...] | None = None,
    rare: bool = False,
) -> Callable[[Callable[[Stage], None]], Callable[[Stage], None]]:
    """Enter a function into the catalogue, by its own name unless another is given."""

    def enter(run: Callable[[Stage], None]) -> Callable[[Stage], None]:
        called = name or run.__name__.replace("_", "-")
        in_short, in_full = (engines if given is None else given for given in (short, full))
        found = Fault(called, row, run, engines, in_short, in_full, rare)
        if found.name in FAULTS:
            raise ValueError(f"two faults are called {found.name}: rename one")
        FAULTS[found.name] = found
        return run

    return enter


def all_faults() -> list[Fault]:
    """All of them, in the order of the table."""
    from tests.chaos import faults

    for module in pkgutil.iter_modules(faults.__path__):
        importlib.import_module(f"{faults.__name__}.{module.name}")
    return sorted(FAULTS.values(), key=lambda fault: (fault.row, fault.name))
