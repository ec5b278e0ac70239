"""Acts of several calls of the store, written once for plain and async code: they yield calls and are sent answers."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from penstock.store.call import Call

T = TypeVar("T")
Steps = Generator[Call[Any], Any, T]


def waited(steps: Steps[T]) -> T:
    try:
        call = next(steps)
        while True:
            call = steps.send(call.wait())
    except StopIteration as end:
        result: T = end.value
        return result


async def awaited(steps: Steps[T]) -> T:
    try:
        call = next(steps)
        while True:
            call = steps.send(await call)
    except StopIteration as end:
        result: T = end.value
        return result
