"""Carrying out operations in plain code: a small pool of connections, and enqueues of many threads as one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import psycopg

from penstock.domain.errors import CommitUncertain, PenstockError, StoreBusy, StoreClosed
from penstock.store.params import Enqueued, NewJob
from penstock.store.postgres.link import CONNECT_SECONDS, HELLO, Link, Retry, Role, dsn, setup
from penstock.store.postgres.steps import SEEN, Operation, Rows, Statement
from penstock.store.postgres.watch import WATCH
from penstock.store.postgres.wiring import MOVE_TOKENS, Wiring, drive

T = TypeVar("T")
Enqueue = Callable[[list[NewJob]], Operation[list[Enqueued]]]


def connect(wiring: Wiring, role: Role) -> Link:
    """A new connection, set up for its role."""
    retry = Retry(wiring.address)
    while True:
        try:
            conn = psycopg.connect(dsn(wiring.address), autocommit=True)
        except psycopg.Error as error:
            time.sleep(retry.pause(error))
            continue
        try:
            return _met(wiring, Link(conn, role))
        except psycopg.Error as error:
            conn.close()
            time.sleep(retry.pause(error))
        except BaseException:
            conn.close()
            raise


def _met(wiring: Wiring, link: Link) -> Link:
    """Ask the server who it is, and set the connection up."""
    WATCH.begin(link, CONNECT_SECONDS)
    try:
        link.greet(link.conn.execute(HELLO).fetchone() or ())
        link.allow_prepared(wiring.address.prepare)
        if not link.pooled:
            link.conn.execute(setup(link.role, wiring.address.timeout).encode(), prepare=False)
        if link.role is Role.CLAIM and not link.pooled:
            link.conn.wait(link.wire.ask(*wiring.query(MOVE_TOKENS), once=True))
    finally:
        WATCH.end(link)
    return link


class PlainSide:
    """The connections of one store for plain code, in any number of threads."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        # Callers may hold theirs for long, and need others meanwhile: they have room of their own.
        self._room = threading.BoundedSemaphore(wiring.address.pool)
        self._callers_room = threading.BoundedSemaphore(wiring.address.pool)
        self._lock = threading.Lock()
        self._idle: list[Link] = []
        self._lent = 0
        self._quiet = threading.Condition(self._lock)
        self._together = _Together(self)

    # Connections

    @contextmanager
    def lent(self, role: Role) -> Iterator[Link]:
        """A connection of this role, for this thread alone."""
        link = self._borrow(role)
        try:
            yield link
        finally:
            self._give_back(link)

    def _borrow(self, role: Role) -> Link:
        wiring = self._wiring
        if not wiring.looked:
            wiring.open()
        room = self._room_for(role)
        if not room.acquire(timeout=wiring.address.timeout):
            raise StoreBusy(
                f"{wiring.address.shown}: all {wiring.address.pool} connections of this process are in use; "
                "end transactions sooner, or allow more with ?pool=N in the address"
            )
        with self._lock:
            self._lent += 1
        try:
            return self._take(role) or connect(wiring, role)
        except BaseException:
            self._returned(role, None)
            raise

    def _room_for(self, role: Role) -> threading.BoundedSemaphore:
        return self._callers_room if role is Role.CALLER else self._room

    def _take(self, role: Role) -> Link | None:
        while True:
            with self._lock:
                found = next((link for link in reversed(self._idle) if link.role is role), None)
                if found is not None:
                    self._idle.remove(found)
                elif self._idle and len(self._idle) + self._lent > self._wiring.address.pool:
                    self._idle.pop(0).close()
            if found is None or found.alive():
                return found
            found.close()

    def _give_back(self, link: Link) -> None:
        if self._wiring.closed or not link.usable():
            link.close()
            self._returned(link.role, None)
        else:
            self._returned(link.role, link)

    def _returned(self, role: Role, link: Link | None) -> None:
        with self._lock:
            if link is not None:
                self._idle.append(link)
            self._lent -= 1
            if not self._lent:
                self._quiet.notify_all()
        self._room_for(role).release()

    def close(self) -> None:
        """Wait for what is under way, then close all."""
        with self._lock:
            self._quiet.wait_for(lambda: self._lent == 0, timeout=self._wiring.address.timeout)
            idle, self._idle = self._idle, []
        for link in idle:
            link.close()

    def abandon(self) -> None:
        """In the child of a fork: forget the connections of the parent without a word to the server."""
        self._idle.clear()

    # Operations

    def run(self, operation: Operation[T], role: Role) -> T:
        tries = 0
        while True:
            tries += 1
            link = self._borrow(role)
            try:
                return self.carry_out(link, operation)
            except psycopg.Error as error:
                verdict = self._wiring.judge(error, link, operation, tries)
            finally:
                self._give_back(link)
            if isinstance(verdict, PenstockError):
                raise verdict from None
            time.sleep(verdict)

    def carry_out(self, link: Link, operation: Operation[T]) -> T:
        def execute(statement: Statement) -> Rows:
            return self.execute(link, statement, operation.seconds)

        if operation.alone:
            return drive(operation.steps(), execute)
        link.committing = False
        try:
            with link.conn.transaction():
                result = drive(operation.steps(), execute)
                link.committing = True
                WATCH.begin(link, operation.seconds)  # Over the commit, which follows.
        finally:
            WATCH.end(link)
        return result

    def execute(self, link: Link, statement: Statement, seconds: float) -> Rows:
        if statement.name == SEEN:
            return [(link.seen,)]
        query, values = self._wiring.query(statement)
        WATCH.begin(link, seconds)
        try:
            rows: Rows = link.conn.wait(link.wire.ask(query, values, once=statement.text is not None))
            return rows
        finally:
            WATCH.end(link)

    def watch(self, link: Link) -> None:
        """Hang up if what is asked next takes longer than the address allows; WATCH.end() takes that back."""
        WATCH.begin(link, self._wiring.address.timeout)

    def enqueue(self, jobs: list[NewJob], operation: Enqueue) -> list[Enqueued]:
        return self._together.enqueue(jobs, operation)


class _Waiting:
    """An enqueue of another thread that waits for the one under way."""

    def __init__(self, jobs: list[NewJob], operation: Enqueue) -> None:
        self.jobs = jobs
        self.operation = operation
        self.done = threading.Event()
        self.answer: list[Enqueued] | None = None
        self.error: BaseException | None = None


class _Together:
    """Group commit: while one thread's enqueue is under way, those of others gather and go as one after it."""

    def __init__(self, side: PlainSide) -> None:
        self._side = side
        self._lock = threading.Lock()
        self._busy = False
        self._gathered: list[_Waiting] = []

    def enqueue(self, jobs: list[NewJob], operation: Enqueue) -> list[Enqueued]:
        with self._lock:
            mine = None
            if self._busy:
                mine = _Waiting(jobs, operation)
                self._gathered.append(mine)
            self._busy = True
        if mine is None:
            try:
                return self._side.run(operation(jobs), Role.WRITE)
            finally:
                self._lead_on()
        mine.done.wait()
        if mine.answer is None and mine.error is None:  # Chosen to store what has gathered, this among it.
            self._store()
        if mine.error is not None:
            raise mine.error
        assert mine.answer is not None
        return mine.answer

    def _lead_on(self) -> None:
        """Whoever waits first stores what has gathered."""
        with self._lock:
            if self._gathered:
                self._gathered[0].done.set()
            else:
                self._busy = False

    def _store(self) -> None:
        with self._lock:
            batch, self._gathered = self._gathered, []
        try:
            store_together(batch, lambda jobs: self._side.run(batch[0].operation(jobs), Role.WRITE))
        finally:
            for one in batch:
                if one.answer is None and one.error is None:
                    one.error = StoreClosed("the thread that stored this job was ended")
                one.done.set()
            self._lead_on()


def store_together(batch: list[_Waiting], store: Callable[[list[NewJob]], list[Enqueued]]) -> None:
    """All as one; if that fails, each alone, so that nobody gets the error of another."""
    try:
        answers = iter(store([job for one in batch for job in one.jobs]))
        for one in batch:
            one.answer = [next(answers) for _ in one.jobs]
    except CommitUncertain as error:
        for one in batch:
            one.error = error
    except Exception as error:
        if len(batch) == 1:
            batch[0].error = error
            return
        for one in batch:
            store_together([one], store)
