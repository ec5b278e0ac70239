"""One store operation with two faces: `await call` in async code, `call.wait()` in plain code.

Nothing happens until one of them is used, and each call is used once. An engine implements
both faces, so that no operation is written twice and no caller needs to know which it is.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Call(Awaitable[T_co], Protocol[T_co]):
    """An operation that is ready to be carried out."""

    def wait(self) -> T_co:
        """Carry it out and block this thread until it is done."""
        ...
