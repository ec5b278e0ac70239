"""Carrying out operations in plain code: a small pool of connections."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from functools import partial
from queue import Empty, SimpleQueue
from typing import TypeVar

import psycopg

from penstock.domain.errors import PenstockError, StoreBusy
from penstock.store.drive import drive
from penstock.store.interrupts import give, take, whole
from penstock.store.postgres.connection.database import MOVE_TOKENS, Database
from penstock.store.postgres.connection.link import CONNECT_SECONDS, HELLO, Link, Retry, Role, dsn, setup
from penstock.store.postgres.connection.operation import Operation
from penstock.store.postgres.connection.watch import WATCH
from penstock.store.sql.steps import Rows, Statement

T = TypeVar("T")


def connect(database: Database, role: Role) -> Link:
    """A new connection, set up for its role."""
    retry = Retry(database.address)
    while True:
        try:
            conn = psycopg.connect(dsn(database.address), autocommit=True)
        except psycopg.Error as error:
            time.sleep(retry.pause(error))
            continue
        try:
            return _met(database, Link(conn, role))
        except psycopg.Error as error:
            conn.close()
            time.sleep(retry.pause(error))
        except BaseException:
            conn.close()
            raise


def _met(database: Database, link: Link) -> Link:
    """Ask the server who it is, and set the connection up."""
    WATCH.begin(link, CONNECT_SECONDS)
    try:
        link.greet(link.conn.execute(HELLO).fetchone() or ())
        link.allow_prepared(database.address.prepare)
        if not link.pooled:
            link.conn.execute(setup(link.role, database.address.timeout).encode(), prepare=False)
        if link.role is Role.CLAIM and not link.pooled:
            link.conn.wait(link.prepared.ask(*database.query(MOVE_TOKENS), once=True))
    finally:
        WATCH.end(link)
    return link


class Loan:
    """A place among the connections of a process, and the connection that has it, once there is one."""

    __slots__ = ("links", "place", "role")

    def __init__(self, role: Role) -> None:
        self.role = role
        self.place: list[None] = []
        self.links: list[Link] = []


class Pool:
    """The connections of one store for plain code, in any number of threads."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # Callers may hold theirs for long, and need others meanwhile: they have room of their own.
        self._room, self._callers_room = _places(database.address.pool), _places(database.address.pool)
        self._idle: dict[Role, deque[Link]] = {role: deque() for role in Role}

    # Connections

    def borrow(self, loan: Loan) -> Link:
        """A connection of this role, for this thread alone. Whoever asks gives back or drops what is in the loan."""
        database = self._database
        if not database.looked:
            database.open()
        try:
            take(loan.place, self._room_for(loan.role).get, True, database.address.timeout)
        except Empty:
            raise StoreBusy(
                f"{database.address.shown}: all {database.address.pool} connections of this process are in use; "
                "end transactions sooner, or allow more with ?pool=N in the address"
            ) from None
        return self._take(loan) or take(loan.links, connect, database, loan.role)

    def _room_for(self, role: Role) -> SimpleQueue[None]:
        return self._callers_room if role is Role.CALLER else self._room

    def _take(self, loan: Loan) -> Link | None:
        idle = self._idle[loan.role]
        while idle:
            try:
                found = take(loan.links, idle.pop)
            except IndexError:  # Another thread was faster.
                break
            if found.alive():
                return found
            found.close()
            loan.links.clear()
        self._make_room()
        return None

    def _make_room(self) -> None:
        """One more is about to be opened: one of another role that is idle may have to go."""
        pool = self._database.address.pool
        lent = 2 * pool - self._room.qsize() - self._callers_room.qsize()
        if sum(map(len, self._idle.values())) + lent > pool:
            self._close_one()

    def _close_one(self) -> bool:
        for idle in self._idle.values():
            with contextlib.suppress(IndexError):
                idle.popleft().close()
                return True
        return False

    def give_back(self, loan: Loan) -> None:
        """For the next; a connection that is not fit for that is closed."""
        if self._database.closed or not loan.links[0].usable():
            self.drop(loan)
        else:
            give(loan.links, self._idle[loan.role].append)
            give(loan.place, self._room_for(loan.role).put)

    def drop(self, loan: Loan, *_: object) -> None:
        """Close the connection: after an interrupt nobody knows what it was about to do. Nothing if it was given back.

        Done again if it was interrupted.
        """
        for link in loan.links:
            WATCH.end(link)
            link.close()
        loan.links.clear()
        if loan.place:
            give(loan.place, self._room_for(loan.role).put)

    def close(self) -> None:
        """Wait for what is under way, then close all."""
        ends = time.monotonic() + self._database.address.timeout
        for room in (self._room, self._callers_room):
            places: list[None] = []
            with contextlib.suppress(Empty):
                while len(places) < self._database.address.pool:
                    take(places, room.get, True, max(0.0, ends - time.monotonic()))
            while places:
                give(places, room.put)
        while self._close_one():
            pass

    def abandon(self) -> None:
        """In the child of a fork: forget the connections of the parent without a word to the server."""
        for idle in self._idle.values():
            idle.clear()

    # Operations

    def run(self, operation: Operation[T], role: Role) -> T:
        tries = 0
        while True:
            tries += 1
            result: T | _Again = whole(self._try, self.drop, Loan(role), operation, tries)
            if not isinstance(result, _Again):
                return result
            time.sleep(result.seconds)

    def _try(self, loan: Loan, operation: Operation[T], tries: int) -> T | _Again:
        link = self.borrow(loan)
        try:
            result = carry_out(self._database, link, operation)
        except psycopg.Error as error:
            verdict = self._database.judge(error, link, operation, tries)
            self.give_back(loan)
            if isinstance(verdict, PenstockError):
                raise verdict from None
            return _Again(verdict)
        except PenstockError:
            self.give_back(loan)
            raise
        self.give_back(loan)
        return result

    def watch(self, link: Link) -> None:
        """Hang up if what is asked next takes longer than the address allows; WATCH.end() takes that back."""
        WATCH.begin(link, self._database.address.timeout)


def _places(count: int) -> SimpleQueue[None]:
    room: SimpleQueue[None] = SimpleQueue()
    for _ in range(count):
        room.put(None)
    return room


class _Again:
    """Not done, and worth one more try after so many seconds."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds


def carry_out(database: Database, link: Link, operation: Operation[T]) -> T:
    """All steps of an operation, on this connection."""
    execute = partial(_execute, database, link, operation.seconds)
    if operation.alone:
        return drive(operation.steps(link.seen), execute)
    link.committing = False
    try:
        with link.conn.transaction():
            result = drive(operation.steps(link.seen), execute)
            link.committing = True
            WATCH.begin(link, operation.seconds)  # Over the commit, which follows.
    finally:
        WATCH.end(link)
    return result


def _execute(database: Database, link: Link, seconds: float, statement: Statement) -> Rows:
    query, values = database.query(statement)
    WATCH.begin(link, seconds)
    try:
        rows: Rows = link.conn.wait(link.prepared.ask(query, values, once=statement.text is not None))
        return rows
    finally:
        WATCH.end(link)
