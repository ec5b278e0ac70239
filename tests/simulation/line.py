"""The store as one simulated process reaches it: over a line that is slow, breaks, and loses answers.

Every call is carried out on the real store, in one piece, at some moment after it was made; what the caller hears of
it, and when, is the line's doing. A call that was made goes its way also when nobody waits for it any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random
from typing import Any, TypeVar

from penstock.domain.errors import CommitUncertain, StoreClosed, StoreUnavailable
from penstock.store.call import Call
from tests.simulation.loop import VirtualLoop
from tests.simulation.weather import CALM, Fault, Weather

T = TypeVar("T")


class Line:
    """What happens between a process and the store. `outside` is a loop that goes on when the process does not."""

    def __init__(
        self, weather: Weather, random: Random, loop: VirtualLoop, outside: VirtualLoop, die: Callable[[], None]
    ) -> None:
        self._weather = weather
        self._random = random
        self._loop = loop
        self._far = outside if weather.remote else loop
        self._die = die
        self._cut_until = 0.0
        self._refusing = False
        self._ended = False
        self._unanswered: set[asyncio.Future[Any]] = set()
        self._stormy: set[asyncio.Future[Any]] = set()

    # What the world does to it

    def calm_down(self) -> None:
        """No more faults from now on."""
        self._weather = CALM
        self._cut_until = 0.0
        self._stormy = set(self._unanswered)

    def cut(self, seconds: float, refusing: bool) -> None:
        """Nothing gets through for a while: it is refused at once, or hangs until the line is whole again."""
        self._cut_until = self._loop.time() + seconds
        self._refusing = refusing

    def end(self) -> None:
        """The process has ended: what is left of its code is to be told so, and changes nothing any more."""
        self._ended = True
        for answer in self._unanswered:
            if not answer.done():
                answer.set_exception(StoreClosed("this process has ended"))

    @property
    def is_clear(self) -> bool:
        """Whether all calls from before the calm are over: some take long."""
        return all(answer.done() for answer in self._stormy)

    @property
    def is_cut(self) -> bool:
        return self._loop.time() < self._cut_until

    # What the process does with it

    def misses_hint(self) -> bool:
        return self._random.random() < self._weather.deaf

    def send(self, name: str, calls: list[Call[T]]) -> asyncio.Future[T]:
        """Carry out a call of this method; `calls` is the same one several times, because each is used once."""
        if self._ended:
            raise StoreClosed("this process has ended")
        answer: asyncio.Future[T] = self._loop.create_future()
        self._unanswered.add(answer)
        fault = self._weather.draw(name, self._random)
        if self.is_cut and self._refusing:
            fault = Fault.REFUSED
        self._far.call_later(self._way(), self._arrive, fault, calls, answer)
        return answer

    def _way(self) -> float:
        hanging = max(0.0, self._cut_until - self._loop.time()) if self.is_cut and not self._refusing else 0.0
        return hanging + self._weather.seconds(self._random)

    def _arrive(self, fault: Fault, calls: list[Call[T]], answer: asyncio.Future[T]) -> None:
        """The call reaches the store, or does not."""
        tell: Callable[[], None]
        if self._ended and self._far is self._loop:
            tell = _error(answer, StoreClosed("this process has ended"))
        elif fault is Fault.REFUSED:
            tell = _error(answer, StoreUnavailable("the store did not answer; nothing was stored"))
        elif fault is Fault.LOST:
            tell = _error(answer, CommitUncertain("the answer was lost, and so was the call"))
        elif fault is Fault.DIED_BEFORE:
            self._die()
            return
        else:
            tell = _carry_out(fault, calls, answer)
        if fault is Fault.DIED_AFTER:
            self._die()
            return
        self._loop.call_later(self._way(), self._return, answer, tell)

    def _return(self, answer: asyncio.Future[T], tell: Callable[[], None]) -> None:
        """The answer reaches the process, if anybody there still waits for it."""
        self._unanswered.discard(answer)
        if not answer.done():
            tell()

    def draw_commit(self) -> Fault:
        """What becomes of the end of a transaction of the caller's."""
        if self._ended:
            raise StoreClosed("this process has ended")
        return Fault.REFUSED if self.is_cut else self._weather.draw("finish_jobs", self._random)

    def die(self) -> None:
        self._die()


def _carry_out(fault: Fault, calls: list[Call[T]], answer: asyncio.Future[T]) -> Callable[[], None]:
    """Do it for real, and say how its answer is told."""
    try:
        result = calls[0].wait()
        if fault is Fault.TWICE:
            calls[1].wait()
    except Exception as error:
        return _error(answer, error)
    if fault is Fault.UNCERTAIN:
        return _error(answer, CommitUncertain("the answer was lost; it is not known whether this was stored"))
    return lambda: answer.set_result(result)


def _error(answer: asyncio.Future[T], error: Exception) -> Callable[[], None]:
    return lambda: answer.set_exception(error)
