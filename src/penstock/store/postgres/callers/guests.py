"""Operations on a connection of the caller's, inside the transaction that is open there (J3, F5).

A savepoint makes each of them whole, and lets the caller's transaction go on after an error of ours.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

from penstock.domain.errors import UsageError
from penstock.store.drive import adrive, drive
from penstock.store.postgres.callers.guest_kinds import AsyncGuest, Guest, PlainGuest, accept
from penstock.store.postgres.connection.errors import translate_state
from penstock.store.sql.steps import Statement, Steps

T = TypeVar("T")

Query = tuple[str, dict[str, Any]]

SAVEPOINT = Statement("savepoint", {}, "SAVEPOINT penstock")
RELEASE = Statement("release", {}, "RELEASE SAVEPOINT penstock")
ROLL_BACK = Statement("roll_back", {}, "ROLLBACK TO SAVEPOINT penstock")

NO_TRANSACTION, TRANSACTION_ABORTED = "25P01", "25P02"
FOREIGN = {"42P01", "42883", "3F000"}  # No such table, function or schema.
CALLERS_TO_RETRY = "40"
_DRIVERS = {"psycopg", "psycopg2", "asyncpg", "sqlalchemy"}


@dataclass(frozen=True)
class Home:
    """The store that an operation belongs to: the texts of its statements, the parameters that it adds to those which
    mention them, and where it is.
    """

    bind: Callable[[Statement], str]
    supplied: Mapping[str, Any]
    address: str

    def query(self, statement: Statement) -> Query:
        text = self.bind(statement)
        added = {name: value for name, value in self.supplied.items() if f"%({name})s" in text}
        return text, {**statement.parameters, **added}


def carry_out(guest: PlainGuest, steps: Callable[[], Steps[T]], home: Home) -> T:
    """All of the operation or nothing of it, in the caller's transaction, which goes on also after an error of ours."""
    with lock_of(guest.key, threading.Lock):
        return drive(_within(guest, steps, home.address), lambda asked: guest.run(*home.query(asked)))


async def acarry_out(guest: AsyncGuest, steps: Callable[[], Steps[T]], home: Home) -> T:
    """The same for async code."""
    async with lock_of(guest.key, asyncio.Lock):
        return await adrive(_within(guest, steps, home.address), lambda asked: guest.run(*home.query(asked)))


_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_locking = threading.Lock()


def lock_of(connection: object, new_lock: Callable[[], Any]) -> Any:
    """One operation at a time on a connection: savepoints of two would tear each other apart."""
    with _locking:
        lock = _locks.get(connection)
        if lock is None:
            lock = _locks[connection] = new_lock()
        return lock


def _within(guest: Guest, steps: Callable[[], Steps[T]], address: str) -> Steps[T]:
    """The operation between a savepoint and its release."""
    try:
        refusal = guest.refusal()
        if refusal is not None:
            raise UsageError(f"conn={guest.name} cannot be used: {refusal}")
        yield SAVEPOINT
        try:
            answer = yield from steps()
        except GeneratorExit:
            raise
        except BaseException:
            yield from _undo()
            raise
        yield RELEASE
    except Exception as error:
        told = _told(error, guest, address)
        if told is None:
            raise
        raise told from _root(error)
    return answer


def _undo() -> Steps[None]:
    try:
        yield ROLL_BACK
        yield RELEASE
    except Exception:
        pass  # The connection is gone, and with it the whole transaction.


# What went wrong


def _told(error: Exception, guest: Guest, address: str) -> Exception | None:
    """The error in penstock's words; None where the original says it best: ours, and those that the caller retries."""
    names = {ancestor.__name__ for ancestor in type(error).__mro__}
    if not any(ancestor.__module__.partition(".")[0] in _DRIVERS for ancestor in type(error).__mro__):
        return None
    state = _sqlstate(error)
    if state is not None and state.startswith(CALLERS_TO_RETRY):
        if hasattr(error, "hide_parameters"):
            error.hide_parameters = True  # SQLAlchemy would tell the payload.
        return None
    conn = f"conn={guest.name}"
    if state == NO_TRANSACTION:
        return UsageError(
            f"{conn} is in autocommit mode and no transaction is open on it: the job would be stored apart from your "
            f"work; {guest.begin}, or leave conn= out"
        )
    if state == TRANSACTION_ABORTED or "PendingRollbackError" in names:
        return UsageError(f"the transaction of {conn} was aborted by an earlier error; roll it back first")
    message = " ".join(str(_root(error)).splitlines()[:1]) or type(error).__name__
    if state in FOREIGN:
        return UsageError(
            f"{conn} leads to a database without the tables of the store at {address} ({message}); "
            "pass a connection to the store's own database, or leave conn= out"
        )
    return translate_state(state, message, address)


def _root(error: BaseException) -> BaseException:
    """What the driver itself said. SQLAlchemy's wrapping tells the parameters, and payloads are not for logs."""
    inner = getattr(error, "orig", None)
    if not isinstance(inner, BaseException):
        return error
    cause = inner.__cause__
    return inner if cause is None else cause


def _sqlstate(error: BaseException) -> str | None:
    root = _root(error)
    state = getattr(root, "sqlstate", None) or getattr(root, "pgcode", None)
    return state if isinstance(state, str) else None


class GuestCall(Generic[T]):
    """A Call whose operation joins the caller's transaction. `twin` names the method for async code."""

    __slots__ = ("_guest", "_home", "_steps", "_twin")

    def __init__(
        self,
        conn: object,
        steps: Callable[[], Steps[T]],
        home: Home,
        twin: str = "aenqueue()",
    ) -> None:
        self._guest = accept(conn)
        self._steps = steps
        self._home = home
        self._twin = twin

    def wait(self) -> T:
        if isinstance(self._guest, AsyncGuest):
            raise UsageError(f"conn={self._guest.name} is a connection of async code: use `await` and {self._twin}")
        return carry_out(self._guest, self._steps, self._home)

    def __await__(self) -> Generator[Any, None, T]:
        if isinstance(self._guest, AsyncGuest):
            done = acarry_out(self._guest, self._steps, self._home)
        else:
            done = _in_thread(carry_out, self._guest, self._steps, self._home)
        return (yield from done.__await__())


async def _in_thread(work: Callable[..., T], *arguments: Any) -> T:
    """For async code that holds a connection that blocks. If the caller is cancelled, it is told after the thread ends:
    before that it could not use its connection.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work, *arguments))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait([running])
        running.exception()
        raise
