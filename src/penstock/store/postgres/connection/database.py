"""One store as all of its connections see it: where it is, whether it may be used, its statements, what errors mean."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import psycopg

from penstock.domain.clock import Clock
from penstock.domain.errors import CommitUncertain, PenstockError, StoreClosed, StoreForked
from penstock.store.contract import Happened
from penstock.store.postgres.connection.address import PostgresAddress
from penstock.store.postgres.connection.errors import AGAIN, CACHED_PLAN, READ_ONLY, translate
from penstock.store.postgres.connection.link import Link, Role
from penstock.store.postgres.connection.operation import Operation
from penstock.store.postgres.connection.statements import Numbered, in_schema, numbered, sql
from penstock.store.postgres.hot.finish import end_and_tell
from penstock.store.sql.endings import ending_unheard
from penstock.store.sql.operations.figures import book_happened
from penstock.store.sql.steps import Statement, Steps, run

MOVE_TOKENS = Statement("move_tokens", {})
"""Before the first claim of a connection: those of a server that crashed may have been undone."""
TRIES = 8
PAUSE_SECONDS = 0.02
BRIEF_SECONDS = 10.0
"""For what a worker cannot wait for long: a silent server must be left before the worker counts as lost."""


@dataclass
class Database:
    """One store, as whoever carries out its operations sees it."""

    address: PostgresAddress
    clock: Clock | None
    look: Callable[[], None]
    """Looks once, before the first use, whether the store is there and fits this version."""
    pid: int = field(default_factory=os.getpid)
    looked: bool = False
    closed: bool = False
    opening: threading.Lock = field(default_factory=threading.Lock)
    doubts: dict[int, Doubt] = field(default_factory=dict)

    @property
    def channel(self) -> str:
        return f"penstock_{self.address.schema}"

    @property
    def notified(self) -> str | None:
        """The channel for statements, which notify nobody where there is none."""
        return self.channel if self.address.notify else None

    @property
    def brief(self) -> float:
        return min(BRIEF_SECONDS, self.address.timeout)

    def refuse(self) -> None:
        """Nothing is begun on a closed store, nor on the connections of a parent process."""
        if self.closed:
            raise StoreClosed(f"{self.address.shown}: this store was closed; make a new App to use it again")
        if self.pid != os.getpid():
            raise StoreForked(
                f"{self.address.shown}: this store was opened before a fork and is used in the child; connections do "
                "not survive a fork: make the App in the child (or use it only after the fork)"
            )

    def open(self) -> None:
        """Blocks while somebody looks for the first time."""
        with self.opening:
            if not self.looked:
                self.look()
                self.looked = True

    def bind(self, statement: Statement) -> str:
        """The text of a statement for this store's schema."""
        if statement.text is not None:
            return in_schema(statement.text, self.address.schema)
        return sql(statement.name, self.address.schema)

    def query(self, statement: Statement) -> tuple[Numbered, list[Any]]:
        """The statement as the server wants it, with the moment and the channel where it asks for them."""
        query = numbered(self.bind(statement))
        given = statement.parameters
        return query, [given[name] if name in given else self._supplied(name) for name in query.names]

    def _supplied(self, name: str) -> Any:
        if name == "channel":
            return self.notified
        if name != "now":
            raise KeyError(name)
        return self.clock.now_us() if self.clock else None

    def judge(self, error: psycopg.Error, link: Link, operation: Operation[Any], tries: int) -> PenstockError | float:
        """What to make of an error: how long to wait before trying again, or what to raise.

        A lost connection means that nothing was stored, unless the server may have committed and could not say so.
        """
        state, lost = error.sqlstate, link.broken
        last = tries >= TRIES
        if state in AGAIN and not last:
            return PAUSE_SECONDS * tries * random.random()
        if state == CACHED_PLAN and "cached plan" in str(error) and not last:
            link.close()
            return 0.0
        if state == READ_ONLY:
            link.close()  # The next connection asks all hosts of the address which of them can be written.
        certain = state is not None or link.role is Role.READ or not operation.durable
        if lost and certain and link.role is not Role.CLAIM and tries == 1:
            return 0.0
        translated = translate(error, self.address.shown)
        if certain or not (lost and (operation.alone or link.committing)):
            return translated
        return CommitUncertain(f"{translated}; it is not known whether this was stored")

    # Claims whose answer was lost

    def doubt(self, session: int, link: Link) -> None:
        """A claim of this worker has ended with an error: it may hold jobs that it does not know of."""
        known = self.doubts.setdefault(session, Doubt())
        known.open = True
        # One that can be used again is not at work any more.
        known.backend = None if link.pooled or link.usable() else (link.pid, str(link.begun))

    def claimed(self, session: int, tokens: list[int]) -> None:
        """The worker knows of these, in whatever order they came: tenants take turns."""
        if tokens:
            known = self.doubts.setdefault(session, Doubt())
            known.newest = max(known.newest, *tokens)


@dataclass
class Doubt:
    """The newest token that a worker was told of, and the backend that may have given it more."""

    newest: int = 0
    open: bool = False
    backend: tuple[int, str] | None = None


def settle_steps(session: int, doubt: Doubt) -> Steps[list[Happened]]:
    """Give back what a claim took without being able to say so. Its backend is ended first: it may still be at it."""
    if doubt.backend is not None:
        yield from run("end_backend", pid=doubt.backend[0], begun=doubt.backend[1])
    tokens = [token for (token,) in (yield from run("leases_after", session=session, token=doubt.newest))]
    happened = (yield from end_and_tell([ending_unheard(token) for token in tokens])) if tokens else []
    if happened:
        yield from book_happened(happened)
    return happened
