"""A real store that is recorded, with a clock that tests move."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.engines import open_store
from penstock.store.contract import SqlStore
from tests.checker.events import Event
from tests.checker.recording import MemoryLog, RecordingStore
from tests.contract.clock import FakeClock
from tests.contract.world import World


class Stamps:
    """Moments of a history: by the test's clock, and strictly growing, so that the order is never in doubt."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self._last = 0

    def __call__(self) -> int:
        self._last = max(self._last + 1, self._clock.now_us())
        return self._last


class Recorded(World):
    """A world whose calls are written down."""

    def __init__(self, store: SqlStore, clock: FakeClock) -> None:
        self.bare = store
        self.history: list[Event] = []
        self.stamps = Stamps(clock)
        self.log = MemoryLog(self.history, "process", self.stamps)
        super().__init__(RecordingStore(store, self.log), clock)

    def other(self, process: str) -> World:
        """The same world as another process sees it, which writes into the same history."""
        log = MemoryLog(self.history, process, self.stamps)
        return World(RecordingStore(self.bare, log), self.clock)

    @property
    def told(self) -> list[tuple[str, str]]:
        return [(event.op, event.phase) for event in self.history]


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    clock = FakeClock()
    store = open_store(f"sqlite:///{tmp_path}/jobs.db?synchronous=normal", clock=clock, random=lambda: 0.5)
    yield Recorded(store, clock)
    store.close()
