"""Stand-ins for the store's contract and for time, as small as the part under test needs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from typing import Any

from penstock.domain.job import Event
from penstock.domain.options import Policy
from penstock.domain.registry import Declaration
from penstock.store.contract import Claim, Unfinished


class FakeClock:
    """Time that moves when the test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def now_us(self) -> int:
        return int(self.seconds * 1e6)

    def monotonic(self) -> float:
        return self.seconds


class Answer:
    """A store call that answers what a function returns, or raises what it raises."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self._answer = answer

    def __await__(self) -> Generator[Any, None, Any]:
        yield from asyncio.sleep(0).__await__()
        return self._answer()

    def wait(self) -> Any:
        return self._answer()


def claim(token: int = 1, kind: str = "work", attempt: int = 1, payload: str = "{}") -> Claim:
    return Claim(
        token=token,
        id=f"00000000-0000-7000-8000-{token:012d}",
        type=kind,
        queue="default",
        attempt=attempt,
        crashes=0,
        payload=payload,
        policy=None,
        priority=0,
        created_at=0,
        due_at=0,
    )


def released(token: int) -> Unfinished:
    return Unfinished(token=token, event=Event.RELEASE)


def default_policy() -> Policy:
    return Policy()


def declaration_of(app: Any, name: str) -> Declaration:
    found: Declaration | None = app.registry.find(name)
    assert found is not None
    return found
