"""All connections of one store: those for plain code, and those of each event loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import weakref
from typing import NamedTuple

from penstock.domain.errors import StoreError
from penstock.store.postgres.connection.database import Database
from penstock.store.postgres.connection.link import Role
from penstock.store.postgres.connection.loop_pool import LoopPool
from penstock.store.postgres.connection.notifier import Notifier
from penstock.store.postgres.connection.operation import Operation
from penstock.store.postgres.connection.pool import Pool
from penstock.store.postgres.connection.together import Tasks, Threads
from penstock.store.sql.steps import run


class Plain(NamedTuple):
    """For plain code: what carries out operations, and what gathers enqueues."""

    pool: Pool
    together: Threads


class Looped(NamedTuple):
    """The same for one event loop."""

    pool: LoopPool
    together: Tasks


class Connections:
    """Whoever asks for connections may begin something now: on a store that was closed he gets an error instead."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.notifier = Notifier(self._wake)
        pool = Pool(database)
        self._plain = Plain(pool, Threads(database, self.notifier, pool))
        self._loops: dict[int, Looped] = {}
        self._lock = threading.Lock()
        _all.add(self)

    def plain(self) -> Plain:
        self.database.refuse()
        return self._plain

    def looped(self) -> Looped:
        """Those of the running event loop."""
        self.database.refuse()
        loop = asyncio.get_running_loop()
        found = self._loops.get(id(loop))
        if found is None or found.pool.loop is not loop:
            with self._lock:
                for key, (old, _) in list(self._loops.items()):
                    if old.loop.is_closed():
                        old.abandon()
                        del self._loops[key]
                pool = LoopPool(self.database)
                found = self._loops[id(loop)] = Looped(pool, Tasks(self.database, self.notifier, pool))
        return found

    def _wake(self) -> None:
        operation = Operation(lambda seen: run("notify"), alone=True, durable=False, seconds=self.database.brief)
        with contextlib.suppress(StoreError):  # A hint that is lost costs one poll.
            self._plain.pool.run(operation, Role.NOTE)

    def close(self) -> None:
        """Wait for what is under way, then close all. In the child of a fork nothing is the child's to close."""
        if self.database.pid != os.getpid():
            self.database.closed = True
            return
        self.notifier.close()
        self.database.closed = True
        for looped in list(self._loops.values()):
            _finish(looped.pool, self.database.address.timeout)
        self._plain.pool.close()

    def abandon(self) -> None:
        """In the child of a fork: nothing of the parent's connections is used, or closed in the parent's name."""
        self._plain.pool.abandon()


_all: weakref.WeakSet[Connections] = weakref.WeakSet()


def _abandon_in_child() -> None:
    for connections in list(_all):
        connections.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_in_child)


def _finish(pool: LoopPool, timeout: float) -> None:
    """Let an event loop finish what it has under way, unless that is the loop which this is called from."""
    if not pool.loop.is_running() or _current_loop() is pool.loop:
        pool.abandon()
        return
    with contextlib.suppress(TimeoutError):
        asyncio.run_coroutine_threadsafe(pool.finish(), pool.loop).result(timeout)


def _current_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
