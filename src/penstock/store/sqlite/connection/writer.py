"""The one writer of a process: a thread that carries out what callers hand in, many per transaction.

Group commit: whatever is waiting when a transaction begins goes into it, so that synchronous=FULL costs
one sync per group. Operations may be carried out again after a rollback and must not keep state of their own.
"""

from __future__ import annotations

import queue
import threading
from _thread import start_new_thread
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import apsw

from penstock.domain.errors import CommitUncertain, PenstockError, StoreBusy, StoreClosed, UsageError
from penstock.store.interrupts import give, take, whole
from penstock.store.sqlite.connection.errors import translate
from penstock.store.sqlite.connection.file import OpenFile
from penstock.store.sqlite.connection.switching import begin_quick_switching, end_quick_switching
from penstock.store.sqlite.connection.tx import Tx
from penstock.store.transactions import is_inside

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")
Operation = Callable[[Tx], T]

GROUP_MAX = 500


class Ticket(Generic[T]):
    """An operation on its way. Whoever handed it in waits on `done` (a thread) or on `future` (an event loop)."""

    __slots__ = ("done", "durable", "error", "future", "operation", "result")

    def __init__(self, operation: Operation[T], durable: bool) -> None:
        self.operation = operation
        self.durable = durable
        self.done: threading.Lock | None = None
        self.future: asyncio.Future[None] | None = None
        self.result: T | None = None
        self.error: BaseException | None = None


class Writer:
    """Owns the thread. The file does the SQL; this class does the grouping and the answering."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._gate = file.gate
        self._queue: queue.SimpleQueue[Ticket[Any] | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="penstock-writer", daemon=True)
        self._thread.start()

    def submit(self, ticket: Ticket[Any]) -> None:
        if is_inside(self._file.path):
            raise UsageError(
                "this call writes to the store while you are inside its transaction() and would wait for itself; "
                "pass the transaction (using(conn=tx)), or make the call after the block"
            )
        with self._closing:
            if self._closed:
                raise StoreClosed(f"{self._file.path}: this store was closed; make a new App to use it again")
            self._put(ticket)

    def _put(self, ticket: Ticket[Any]) -> None:
        try:
            begin_quick_switching(ticket)
            self._queue.put(ticket)
        except BaseException:
            start_new_thread(end_quick_switching, ((ticket,),))  # Interrupted: it may not be on its way.
            raise

    def carry_out_here(self, held: list[bool], ticket: Ticket[Any]) -> bool:
        """Do it in the caller's thread if nothing else is on its way: that saves two hand-overs between threads."""
        if not self._queue.empty() or not take(held, self._gate.acquire, False):
            return False
        with self._closing:
            wanted = not (self._closed or is_inside(self._file.path))
        if wanted:
            self._try([ticket])
        give(held, self._gate.__exit__)
        if self._file.owes() is not None:
            self._put(Ticket(lambda _: None, durable=False))
        return wanted

    def let_go(self, held: list[bool], ticket: Ticket[Any]) -> None:
        """After an interrupt: nothing stays begun. What was committed is, whether or not its caller knows."""
        if held == [True]:
            try:
                self._file.rollback()
            except apsw.Error:
                pass  # The next one to begin is told what is wrong.
            give(held, self._gate.__exit__)

    def close(self) -> None:
        with self._closing:
            self._closed = True
            self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while True:
            group = self._next_group()
            tickets = [ticket for ticket in group if ticket is not None]
            with self._gate:
                self._carry_out(tickets)
            end_quick_switching(tickets)
            if group[-1] is None:
                return

    def _next_group(self) -> list[Ticket[Any] | None]:
        group: list[Ticket[Any] | None] = []
        while not group:
            try:
                group.append(self._queue.get(timeout=self._file.owes()))
            except queue.Empty:
                self._file.pay()
        while group[-1] is not None and len(group) < GROUP_MAX:
            try:
                group.append(self._queue.get_nowait())
            except queue.Empty:
                break
        return group

    def _carry_out(self, group: list[Ticket[Any]]) -> None:
        """One transaction for all; if any of it fails, each on its own, so that one cannot spoil the others."""
        if not group:
            return
        if not self._try(group) and len(group) > 1:
            for ticket in group:
                ticket.error = None
                self._try([ticket])
        _tell(group)

    def _try(self, group: list[Ticket[Any]]) -> bool:
        """Whether the group is settled: committed, or failed in a way that trying one by one would not change."""
        error: BaseException
        try:
            tx = self._file.begin(group[0].durable or any(ticket.durable for ticket in group))
            if len(group) == 1:
                group[0].result = group[0].operation(tx)
            else:
                _operate(tx, group)
            self._file.commit(tx)
        except CommitUncertain as uncertain:
            for ticket in group:
                ticket.error = uncertain
            self._file.rollback()
            return True
        except apsw.Error as broken:
            error = translate(broken, self._file.path)
        except BaseException as broken:
            error = broken
        else:
            self._file.committed(tx)
            return True
        self._file.rollback()
        for ticket in group:
            ticket.error = error
        return isinstance(error, StoreBusy)


class WriteCall(Generic[T]):
    """A write that is ready to be handed in: `await` it, or `wait()` for it."""

    __slots__ = ("_durable", "_operation", "_writer")

    def __init__(self, writer: Callable[[], Writer], operation: Operation[T], durable: bool = True) -> None:
        self._writer = writer
        self._operation = operation
        self._durable = durable

    def wait(self) -> T:
        ticket = Ticket(self._operation, self._durable)
        writer = self._writer()
        if not whole(writer.carry_out_here, writer.let_go, [], ticket):
            ticket.done = threading.Lock()
            ticket.done.acquire()
            writer.submit(ticket)
            ticket.done.acquire()
        return _answer(ticket)

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio

        ticket = Ticket(self._operation, self._durable)
        ticket.future = asyncio.get_running_loop().create_future()
        self._writer().submit(ticket)
        yield from ticket.future.__await__()
        return _answer(ticket)


def _operate(tx: Tx, group: list[Ticket[Any]]) -> None:
    """Carry out all operations of a group. Enqueues, which offer together(tx, operations), become one."""
    enqueues: list[Ticket[Any]] = []
    for ticket in group:
        if hasattr(ticket.operation, "together"):
            enqueues.append(ticket)
        else:
            ticket.result = ticket.operation(tx)
    if enqueues:
        operations: list[Any] = [ticket.operation for ticket in enqueues]
        for ticket, result in zip(enqueues, operations[0].together(tx, operations), strict=True):
            ticket.result = result


def _tell(group: list[Ticket[Any]]) -> None:
    """Wake everybody who waits; an event loop is woken once for all of its callers."""
    by_loop: dict[asyncio.AbstractEventLoop, list[asyncio.Future[None]]] = {}
    for ticket in group:
        if ticket.done is not None:
            ticket.done.release()
        elif ticket.future is not None:
            by_loop.setdefault(ticket.future.get_loop(), []).append(ticket.future)
    for loop, futures in by_loop.items():
        try:
            loop.call_soon_threadsafe(_wake, futures)
        except RuntimeError:
            pass  # The loop was closed while the write was on its way; nobody is waiting any more.


def _wake(futures: list[asyncio.Future[None]]) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None)


def _answer(ticket: Ticket[T]) -> T:
    if ticket.error is None:
        return ticket.result  # type: ignore[return-value]
    if isinstance(ticket.error, PenstockError):
        # One error object may answer several callers; each gets its own, so that tracebacks do not mix.
        raise type(ticket.error)(*ticket.error.args) from ticket.error.__cause__
    raise ticket.error
