"""The store's contract over a faulty line. Whatever a method of the real store answers as a Call is sent over it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NoReturn, TypeVar

from penstock.domain.errors import CommitUncertain, StoreClosed, StoreUnavailable
from penstock.store.call import Call
from penstock.store.contract import Listener, Transaction
from penstock.store.sqlite.store import SqliteStore
from tests.simulation.line import Line
from tests.simulation.weather import Fault

T = TypeVar("T")

AT_ONCE = frozenset({
    "address", "info", "version", "migration_status", "migration_script", "migrate", "close",
})  # fmt: skip


class FaultyStore:
    """A store as one process sees it. Methods that are not named here go over the line, also those of the future."""

    def __init__(self, store: SqliteStore, line: Line) -> None:
        self._store = store
        self._line = line

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if name in AT_ONCE:
            return found

        def method(*params: Any) -> Call[Any]:
            if params and getattr(params[0], "transaction", None) is not None:
                return WithinTransaction(found(*params))
            return FaultyCall(self._line, name, lambda: found(*params))

        return method

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction of the caller's, who must not wait for anything in it: others would wait for ever."""
        fault = self._line.draw_commit()
        with self._store.transaction() as tx:
            yield tx
            if fault is Fault.DIED_BEFORE:
                self._line.die()
                raise StoreClosed("this process has ended")
            if fault is Fault.REFUSED:
                raise StoreUnavailable("the store did not answer; nothing was stored")
            if fault is Fault.LOST:
                raise CommitUncertain("the answer was lost, and so was the commit")
        if fault is Fault.DIED_AFTER:
            self._line.die()
        if fault is Fault.UNCERTAIN:
            raise CommitUncertain("the answer was lost; it is not known whether this was stored")

    def listen(self, poll_interval: float) -> FaultyListener:
        return FaultyListener(self._store.listen(poll_interval), self._line, poll_interval)


class FaultyCall(Generic[T]):
    """A call on its way over the line."""

    def __init__(self, line: Line, name: str, make: Callable[[], Call[T]]) -> None:
        self._line = line
        self._name = name
        self._calls = [make(), make()]

    def __await__(self) -> Generator[Any, None, T]:
        return (yield from self._line.send(self._name, self._calls).__await__())

    def wait(self) -> NoReturn:
        raise RuntimeError(f"{self._name}().wait() would block the simulation: await it")


class WithinTransaction(Generic[T]):
    """A call in a transaction of the caller's: carried out at once, because that transaction holds up everybody."""

    def __init__(self, call: Call[T]) -> None:
        self._call = call

    def __await__(self) -> Generator[Any, None, T]:
        yield from ()
        return self._call.wait()

    def wait(self) -> T:
        return self._call.wait()


class FaultyListener:
    """An ear that sometimes misses a hint: then the next poll finds what was new."""

    bell = None
    turn = None

    def __init__(self, listener: Listener, line: Line, poll_interval: float) -> None:
        self._listener = listener
        self._line = line
        self._poll_interval = poll_interval

    async def wait(self, timeout: float) -> bool:
        heard = await self._listener.wait(timeout)
        if heard and self._line.misses_hint():
            await asyncio.sleep(self._poll_interval)
        return heard

    def close(self) -> None:
        self._listener.close()
