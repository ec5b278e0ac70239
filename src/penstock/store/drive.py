"""The loops that carry out what is written once for plain and for async code, as a generator.

Such a generator yields what it asks for and is sent the answer. An error of an answer is raised where it was asked for:
it may get past that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import TypeVar, cast

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
T = TypeVar("T")


def drive(steps: Generator[Asked, Answer, T], answer: Callable[[Asked], Answer]) -> T:
    try:
        asked = next(steps)
        while True:
            try:
                got = answer(asked)
            except BaseException as error:
                asked = steps.throw(error)
            else:
                asked = steps.send(got)
    except StopIteration as end:
        return cast(T, end.value)
    finally:
        steps.close()


async def adrive(steps: Generator[Asked, Answer, T], answer: Callable[[Asked], Awaitable[Answer]]) -> T:
    try:
        asked = next(steps)
        while True:
            try:
                got = await answer(asked)
            except BaseException as error:
                asked = steps.throw(error)
            else:
                asked = steps.send(got)
    except StopIteration as end:
        return cast(T, end.value)
    finally:
        steps.close()
