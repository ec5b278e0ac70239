"""Acts of several calls of the store, written once for plain and async code: they yield calls and are sent answers."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Generic, TypeVar

from penstock.store.call import Call
from penstock.store.drive import adrive, drive

T = TypeVar("T")
Steps = Generator[Call[Any], Any, T]


def waited(steps: Steps[T]) -> T:
    return drive(steps, lambda call: call.wait())


async def awaited(steps: Steps[T]) -> T:
    return await adrive(steps, lambda call: call)


class StepsCall(Generic[T]):
    """Such an act with both faces of a store's call."""

    def __init__(self, steps: Steps[T]) -> None:
        self._steps = steps

    def wait(self) -> T:
        return waited(self._steps)

    def __await__(self) -> Generator[Any, Any, T]:
        return awaited(self._steps).__await__()
