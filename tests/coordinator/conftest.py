"""Coordinators in virtual time, on a real SQLite store whose calls take no time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from penstock.store import contract as p
from penstock.store.call import Call
from penstock.store.sqlite.store import SqliteStore
from tests.contract.world import STALE_AFTER, World
from tests.simulation.clock import TrueClock
from tests.simulation.loop import Time, VirtualLoop


class AtOnce:
    """The store, with calls that are carried out where they are awaited: virtual time has no threads."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self.broken: Exception | None = None
        """What every call raises, while the store is away."""

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)
        return lambda *params: Done(self, method(*params))


class Done:
    def __init__(self, store: AtOnce, call: Call[Any]) -> None:
        self._store = store
        self._call = call

    def __await__(self) -> Generator[Any, None, Any]:
        if self._store.broken is not None:
            raise self._store.broken
        yield from ()
        return self._call.wait()


class Scene:
    """Virtual time, a store, and processes that come and go."""

    def __init__(self, path: Path) -> None:
        self.time = Time(Random(1))
        self.clock = TrueClock(self.time)
        self.sqlite = SqliteStore(str(path), clock=self.clock, random=lambda: 0.5)
        self.world = World(self.sqlite, self.clock)  # type: ignore[arg-type]
        self.store: Any = AtOnce(self.sqlite)

    def register(self, name: str, **fields: Any) -> int:
        return self.world.register(name, **fields)

    def begin(self, name: str, main: Callable[[], Coroutine[Any, Any, Any]]) -> VirtualLoop:
        """A process of its own that runs this."""
        loop = VirtualLoop(self.time, name)
        loop.call_soon(lambda: loop.create_task(main()))
        return loop

    def pass_time(self, seconds: float) -> None:
        """Let everything happen that happens until then."""
        end = self.time.now + seconds
        clock = VirtualLoop(self.time, "clock")
        passed: list[bool] = []
        clock.call_at(end, passed.append, True)
        self.time.run(lambda: bool(passed))
        self.time.remove_loop(clock)

    def leader(self) -> p.Leadership:
        """Who leads, as a stranger is told."""
        return self.sqlite.lead_store(p.LeadStore(-1, 1.0)).wait()

    def beat(self, *sessions: int) -> None:
        for session in sessions:
            self.world.heartbeat(session)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path / "jobs.db")
    yield made
    made.sqlite.close()


__all__ = ["STALE_AFTER"]
