"""One store operation with two faces: `await call` in async code, `call.wait()` in plain code.

Nothing happens until one of them is used, and each call is used once. An engine implements
both faces, so that no operation is written twice and no caller needs to know which it is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Call(Awaitable[T_co], Protocol[T_co]):
    """An operation that is ready to be carried out."""

    def wait(self) -> T_co:
        """Carry it out and block this thread until it is done."""
        ...


class ThreadCall(Generic[T]):
    """Something that blocks: in the caller's thread, or in a thread of its own for async callers."""

    __slots__ = ("_work",)

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work

    def wait(self) -> T:
        return self._work()

    def __await__(self) -> Generator[Any, None, T]:
        import asyncio

        return (yield from asyncio.to_thread(self._work).__await__())
