"""Group commit: while one enqueue is under way, those of others gather, and go as one after it.

What gathers, and how the answers are shared out, is the same for threads and for tasks; they differ in how they wait,
and in who stores what has gathered.
"""

from __future__ import annotations

import asyncio
import threading
from _thread import get_ident
from collections.abc import Callable, Generator
from functools import partial

from penstock.domain.errors import CommitUncertain, StoreClosed
from penstock.store.contract import Enqueued, NewJob
from penstock.store.drive import adrive, drive
from penstock.store.interrupts import whole
from penstock.store.postgres.connection.database import Database
from penstock.store.postgres.connection.link import Role
from penstock.store.postgres.connection.loop_pool import LoopPool
from penstock.store.postgres.connection.notifier import Notifier
from penstock.store.postgres.connection.operation import Operation
from penstock.store.postgres.connection.pool import Pool
from penstock.store.postgres.hot.enqueue import enqueue_steps, is_plain
from penstock.store.sql.operations.figures import booked_enqueue

Enqueue = Operation[list[Enqueued]]


class Waiting:
    """An enqueue: the one under way, or one that waits for it."""

    __slots__ = ("answer", "error", "jobs", "may_be_interrupted", "tell")

    def __init__(self, jobs: list[NewJob]) -> None:
        self.jobs = jobs
        self.tell: Callable[[], object] | None = None
        """Goes on with whoever waits: there is an answer, or it is to lead."""
        self.may_be_interrupted = False
        self.answer: list[Enqueued] | None = None
        self.error: BaseException | None = None

    @property
    def is_settled(self) -> bool:
        return self.answer is not None or self.error is not None

    def settle(self, answer: list[Enqueued] | None, error: BaseException | None = None) -> None:
        self.answer, self.error = answer, error
        if self.tell is not None:
            self.tell()

    def result(self) -> list[Enqueued]:
        if self.error is not None:
            raise self.error
        assert self.answer is not None
        return self.answer


class Together:
    """What gathers, and how it is stored."""

    def __init__(self, database: Database, notifier: Notifier) -> None:
        self._address = database.address
        self._notifier = notifier
        self._gathered: list[Waiting] = []

    def _operation(self, jobs: list[NewJob]) -> Enqueue:
        """One statement where the jobs allow it."""
        wake = self._address.notify and self._notifier.now()
        seconds = self._address.timeout
        if is_plain(jobs):
            return Operation(lambda seen: enqueue_steps(jobs, wake=wake), alone=True, seconds=seconds)
        return Operation(lambda seen: booked_enqueue(enqueue_steps(jobs, wake=wake)), seconds=seconds)

    def _storing(self, batch: list[Waiting]) -> Generator[Enqueue, list[Enqueued], None]:
        """All as one; if that fails, each alone, so that nobody gets the error of another."""
        try:
            answers = iter((yield self._operation([job for one in batch for job in one.jobs])))
            for one in batch:
                one.settle([next(answers) for _ in one.jobs])
        except Exception as error:
            if len(batch) == 1 or isinstance(error, CommitUncertain):
                for one in batch:
                    one.settle(None, error)
                return
            for one in batch:
                yield from self._storing([one])


class Threads(Together):
    """The enqueues of many threads. One of those that wait leads, and stores what has gathered.

    The main thread, which may be interrupted at any moment, stores nothing but what is its own.
    """

    def __init__(self, database: Database, notifier: Notifier, pool: Pool) -> None:
        super().__init__(database, notifier)
        self._store = partial(pool.run, role=Role.WRITE)
        self._lock = threading.Lock()
        self._leader: Waiting | None = None

    def enqueue(self, jobs: list[NewJob]) -> list[Enqueued]:
        return whole(self._enqueue, self._leave, Waiting(jobs))

    def _enqueue(self, mine: Waiting) -> list[Enqueued]:
        done = None
        with self._lock:
            if self._leader is None:
                self._leader = mine
            else:
                done = _new_wait(mine)
                self._gathered.append(mine)
        if done is None:
            answer = self._store(self._operation(mine.jobs))
        else:
            done.acquire()
            if not mine.is_settled:  # Chosen to store what has gathered, this among it.
                self._lead(mine)
            answer = mine.result()
        self._leave(mine)
        return answer

    def _lead(self, mine: Waiting) -> None:
        with self._lock:
            batch = [mine] if mine.may_be_interrupted else self._gathered
            self._gathered = [one for one in self._gathered if one not in batch]
        try:
            drive(self._storing(batch), self._store)
        finally:
            for one in batch:
                if not one.is_settled:
                    one.settle(None, StoreClosed("the thread that stored this job was ended"))

    def _leave(self, mine: Waiting) -> None:
        """Also after an interrupt: nobody waits for this one any more, and somebody else leads if it did."""
        with self._lock:
            if mine in self._gathered:
                self._gathered.remove(mine)
            if self._leader is mine:
                chosen = next((one for one in self._gathered if not one.may_be_interrupted), None)
                self._leader = chosen = chosen or next(iter(self._gathered), None)
                if chosen is not None and chosen.tell is not None:  # No interrupt comes between: nothing is called.
                    chosen.tell()


def _new_wait(mine: Waiting) -> threading.Lock:
    """What a thread waits for: held until it is told to go on."""
    mine.may_be_interrupted = get_ident() == threading.main_thread().ident
    done = threading.Lock()
    done.acquire()
    mine.tell = done.release
    return done


class Tasks(Together):
    """The enqueues of many tasks of one event loop. What has gathered is stored in a task of its own."""

    def __init__(self, database: Database, notifier: Notifier, pool: LoopPool) -> None:
        super().__init__(database, notifier)
        self._pool = pool
        self._store = partial(pool.run, role=Role.WRITE)
        self._busy = False
        self._task: asyncio.Task[None] | None = None

    async def enqueue(self, jobs: list[NewJob]) -> list[Enqueued]:
        if self._busy:
            mine, told = Waiting(jobs), self._pool.loop.create_future()
            mine.tell = partial(_wake, told)
            self._gathered.append(mine)
            with self._pool.counted():
                await told
            return mine.result()
        self._busy = True
        try:
            return await self._store(self._operation(jobs))
        finally:
            self._lead_on()

    def _lead_on(self) -> None:
        if self._gathered:
            self._task = self._pool.loop.create_task(self._lead())
        else:
            self._busy = False

    async def _lead(self) -> None:
        # Taken when this task begins: those who were just answered have had their turn to come with the next.
        batch, self._gathered = self._gathered, []
        try:
            await adrive(self._storing(batch), self._store)
        finally:
            self._lead_on()


def _wake(told: asyncio.Future[None]) -> None:
    if not told.done():
        told.set_result(None)
