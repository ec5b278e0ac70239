"""Transactions of the caller's, which only SQL engines have."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Protocol


class Transaction(Protocol):
    """The caller's own transaction, on a connection that the engine hands out or accepts."""

    def execute(self, sql: str, bindings: Sequence[object] | dict[str, object] = ()) -> list[tuple[object, ...]]:
        """Run one statement of the caller's and return its rows."""
        ...


class Transactions(Protocol):
    """What an engine has whose jobs can be part of a transaction of the caller's, and only then: `transaction` in the
    parameters of enqueue_jobs(), finish_jobs() and enqueue_workflow() is one of these.
    """

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction of the caller's on this store: committed at the end of the block, rolled back on an error."""
        ...

    def atransaction(self) -> AbstractAsyncContextManager[Transaction]:
        """The same for async code; beginning and committing do not block the event loop."""
        ...
