"""Named points at which a process ends itself, without a word: around the store's methods, and inside handlers."""

from __future__ import annotations

import itertools
import os
import signal
import threading
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from penstock.store import contract as p
from penstock.store.call import Call
from penstock.store.contract import SqlStore
from penstock.store.postgres.connection.statements import Numbered
from penstock.store.sql.steps import Statement
from tests.chaos.program.role import Crash

T = TypeVar("T")

WORKER_POINTS = (
    "before claim", "after claim", "before effect", "after effect", "in the transaction", "after the transaction",
    "before finish", "after finish", "before start", "after start",
)  # fmt: skip
LEADER_POINTS = ("before recovery", "after recovery")
CLIENT_POINTS = ("before enqueue", "after enqueue")
CRASHED = 86
"""The exit code of a process that ended itself here."""


class Points:
    """Counts how often each point was passed, and ends the process at the one that it was told.

    `last_word` is called before that; it must not take long, and need not be heard.
    """

    def __init__(self, crash: Crash | None, last_word: Callable[[], None] = lambda: None) -> None:
        self._crash = crash
        self._last_word = last_word
        self._left = crash.nth if crash else 0
        self._lock = threading.Lock()

    def passed(self, point: str) -> None:
        if self._crash is None or self._crash.point != point:
            return
        with self._lock:
            self._left -= 1
            if self._left == 0:
                self._last_word()
                os._exit(CRASHED)


class CrashingCall(Generic[T]):
    """A call of the store between two points. `counts` tells from the answer whether the later one was reached."""

    def __init__(self, call: Call[T], points: Points, name: str, counts: Callable[[T], object]) -> None:
        self._call = call
        self._points = points
        self._name = name
        self._counts = counts

    def wait(self) -> T:
        self._points.passed(f"before {self._name}")
        return self._answered(self._call.wait())

    def __await__(self) -> Generator[Any, None, T]:
        self._points.passed(f"before {self._name}")
        return self._answered((yield from self._call.__await__()))

    def _answered(self, answer: T) -> T:
        if self._counts(answer):
            self._points.passed(f"after {self._name}")
        return answer


class CrashingStore:
    """The store with points around what changes jobs. Everything else is handed on."""

    def __init__(self, store: SqlStore, points: Points) -> None:
        self._store = store
        self._points = points

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def enqueue_jobs(self, params: p.EnqueueJobs) -> Call[list[p.Enqueued]]:
        return self._between(self._store.enqueue_jobs(params), "enqueue")

    def enqueue_workflow(self, params: p.EnqueueWorkflow) -> Call[p.WorkflowEnqueued]:
        return self._between(self._store.enqueue_workflow(params), "enqueue")

    def claim_jobs(self, params: p.ClaimJobs) -> Call[p.Claimed]:
        return self._between(self._store.claim_jobs(params), "claim", lambda claimed: claimed.jobs)

    def start_jobs(self, params: p.StartJobs) -> Call[list[int]]:
        return self._between(self._store.start_jobs(params), "start")

    def finish_jobs(self, params: p.FinishJobs) -> Call[p.Finished]:
        call = self._store.finish_jobs(params)
        return call if params.transaction is not None else self._between(call, "finish")

    def recover_jobs(self, params: p.RecoverJobs) -> Call[p.Recovered]:
        return self._between(self._store.recover_jobs(params), "recovery", lambda recovered: recovered.jobs)

    def _between(self, call: Call[T], name: str, counts: Callable[[T], object] = lambda answer: True) -> Call[T]:
        return CrashingCall(call, self._points, name, counts)


def freeze_before(freeze: Crash, last_word: Callable[[], None]) -> None:
    """Stop this process when it is about to send a statement: whatever it has locked before stays locked."""
    from penstock.store.postgres.connection.database import Database

    query, left = Database.query, itertools.count(freeze.nth - 1, -1)

    def frozen(database: Database, statement: Statement) -> tuple[Numbered, list[Any]]:
        if statement.name == freeze.point and next(left) == 0:
            last_word()
            os.kill(os.getpid(), signal.SIGSTOP)
        return query(database, statement)

    Database.query = frozen  # type: ignore[assignment, method-assign]


class DeafStore:
    """The store of a worker whose bell nobody knows: every hint to it is lost."""

    def __init__(self, store: SqlStore) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def register_worker(self, params: p.RegisterWorker) -> Call[p.Registered]:
        from msgspec.structs import replace

        return self._store.register_worker(replace(params, bell=None))
