"""Carrying out operations in plain code: a small pool of connections, and enqueues of many threads as one."""

from __future__ import annotations

import contextlib
import threading
import time
from _thread import get_ident
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import TypeVar

import psycopg

from penstock.domain.errors import CommitUncertain, PenstockError, StoreBusy, StoreClosed
from penstock.store.interrupts import give, take, whole
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


class Loan:
    """A place among the connections of a process, and the connection that has it, once there is one."""

    __slots__ = ("links", "place", "role")

    def __init__(self, role: Role) -> None:
        self.role = role
        self.place: list[None] = []
        self.links: list[Link] = []


class PlainSide:
    """The connections of one store for plain code, in any number of threads."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        # Callers may hold theirs for long, and need others meanwhile: they have room of their own.
        self._room, self._callers_room = _places(wiring.address.pool), _places(wiring.address.pool)
        self._idle: dict[Role, deque[Link]] = {role: deque() for role in Role}
        self._together = _Together(self)

    # Connections

    def borrow(self, loan: Loan) -> Link:
        """A connection of this role, for this thread alone. Whoever asks gives back or drops what is in the loan."""
        wiring = self._wiring
        if not wiring.looked:
            wiring.open()
        try:
            take(loan.place, self._room_for(loan.role).get, True, wiring.address.timeout)
        except Empty:
            raise StoreBusy(
                f"{wiring.address.shown}: all {wiring.address.pool} connections of this process are in use; "
                "end transactions sooner, or allow more with ?pool=N in the address"
            ) from None
        return self._take(loan) or take(loan.links, connect, wiring, loan.role)

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
        pool = self._wiring.address.pool
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
        if self._wiring.closed or not loan.links[0].usable():
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
        ends = time.monotonic() + self._wiring.address.timeout
        for room in (self._room, self._callers_room):
            places: list[None] = []
            with contextlib.suppress(Empty):
                while len(places) < self._wiring.address.pool:
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
            result = self.carry_out(link, operation)
        except psycopg.Error as error:
            verdict = self._wiring.judge(error, link, operation, tries)
            self.give_back(loan)
            if isinstance(verdict, PenstockError):
                raise verdict from None
            return _Again(verdict)
        except PenstockError:
            self.give_back(loan)
            raise
        self.give_back(loan)
        return result

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


class _Waiting:
    """An enqueue: the one under way, or one of another thread that waits for it."""

    __slots__ = ("answer", "done", "error", "jobs", "may_be_interrupted", "operation")

    def __init__(self, jobs: list[NewJob], operation: Enqueue) -> None:
        self.jobs = jobs
        self.operation = operation
        self.done: threading.Lock | None = None
        self.may_be_interrupted = False
        self.answer: list[Enqueued] | None = None
        self.error: BaseException | None = None

    def wait_for(self) -> threading.Lock:
        """What to wait for: held until somebody has an answer, or wants this thread to lead."""
        self.may_be_interrupted = get_ident() == threading.main_thread().ident
        done = threading.Lock()
        done.acquire()
        self.done = done
        return done


class _Together:
    """Group commit: while one thread's enqueue is under way, those of others gather and go as one after it.

    The main thread, which may be interrupted at any moment, stores nothing but what is its own.
    """

    def __init__(self, side: PlainSide) -> None:
        self._side = side
        self._lock = threading.Lock()
        self._leader: _Waiting | None = None
        self._gathered: list[_Waiting] = []

    def enqueue(self, jobs: list[NewJob], operation: Enqueue) -> list[Enqueued]:
        return whole(self._enqueue, self._leave, _Waiting(jobs, operation))

    def _enqueue(self, mine: _Waiting) -> list[Enqueued]:
        done = None
        with self._lock:
            if self._leader is None:
                self._leader = mine
            else:
                done = mine.wait_for()
                self._gathered.append(mine)
        if done is not None:
            done.acquire()
            if mine.answer is None and mine.error is None:  # Chosen to store what has gathered, this among it.
                self._store(mine)
            self._leave(mine)
            if mine.error is not None:
                raise mine.error
            assert mine.answer is not None
            return mine.answer
        answer = self._side.run(mine.operation(mine.jobs), Role.WRITE)
        self._leave(mine)
        return answer

    def _leave(self, mine: _Waiting) -> None:
        """Also after an interrupt: nobody waits for this one any more, and somebody else leads if it did."""
        with self._lock:
            if mine in self._gathered:
                self._gathered.remove(mine)
            if self._leader is mine:
                chosen = next((one for one in self._gathered if not one.may_be_interrupted), None)
                self._lead(chosen or next(iter(self._gathered), None))

    def _lead(self, chosen: _Waiting | None) -> None:
        self._leader = chosen
        if chosen is not None and chosen.done is not None:
            chosen.done.release()

    def _store(self, mine: _Waiting) -> None:
        with self._lock:
            batch = [mine] if mine.may_be_interrupted else self._gathered
            self._gathered = [one for one in self._gathered if one not in batch]
        try:
            store_together(batch, lambda jobs: self._side.run(mine.operation(jobs), Role.WRITE))
        finally:
            for one in batch:
                if one.answer is None and one.error is None:
                    one.error = StoreClosed("the thread that stored this job was ended")
                if one is not mine and one.done is not None:
                    one.done.release()


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
