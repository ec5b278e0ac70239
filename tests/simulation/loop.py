"""Virtual time for asyncio: one event loop per simulated process, and one Time that drives them all.

There are ready callbacks and timers, and nothing else: no selector, no sockets, no threads. Time stands still while
anything can run, and then jumps to the next timer. Callbacks of one process keep their order, as asyncio promises;
whose turn it is among several processes is drawn from the seed.
"""

from __future__ import annotations

import asyncio
import threading
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from heapq import heappop, heappush
from random import Random
from typing import Any, NoReturn, TypeVar

STEPS_WITHOUT_TIME_MAX = 100_000

T = TypeVar("T")


class Deadlock(Exception):
    """Nothing can run, and no timer will ever change that."""


class Standstill(Exception):
    """Callbacks follow each other for ever and time never passes."""


class Time:
    """The one time of a simulation, and the order in which everything happens."""

    def __init__(self, random: Random) -> None:
        self.now = 0.0
        self._random = random
        self._timers: list[tuple[float, float, int, VirtualLoop, asyncio.TimerHandle]] = []
        self._count = 0
        self._steps = 0
        self._loops: list[VirtualLoop] = []

    def add_loop(self, loop: VirtualLoop) -> None:
        self._loops.append(loop)

    def remove_loop(self, loop: VirtualLoop) -> None:
        self._loops.remove(loop)

    def add_timer(self, when: float, loop: VirtualLoop, handle: asyncio.TimerHandle) -> None:
        """Those of the same moment fire in an order that is drawn."""
        self._count += 1
        heappush(self._timers, (max(when, self.now), self._random.random(), self._count, loop, handle))

    def run(self, over: Callable[[], bool]) -> None:
        """Let everything happen until `over` says so."""
        while not over():
            runnable = [loop for loop in self._loops if loop.ready and not loop.frozen]
            if runnable:
                self._count_step()
                (runnable[0] if len(runnable) == 1 else self._random.choice(runnable)).run_ready()
            else:
                self._pass_on()

    def _count_step(self) -> None:
        self._steps += 1
        if self._steps > STEPS_WITHOUT_TIME_MAX:
            raise Standstill(
                f"{self._steps} rounds of callbacks ran at {self.now:.6f} s and time does not pass{self._waiting()}"
            )

    def _pass_on(self) -> None:
        """Jump to the next moment at which something is due, and make ready all that is due then."""
        self._steps = 0
        due = float("inf")
        while self._timers and self._timers[0][0] <= due:
            when, _, _, loop, handle = heappop(self._timers)
            if not handle.cancelled() and loop.fires(handle, when):
                self.now = due = when
        if due == float("inf"):
            raise Deadlock(f"nothing can run and no timer is set at {self.now:.6f} s{self._waiting()}")

    def _waiting(self) -> str:
        """Who waits, for the message of an error."""
        lines = [
            f"\n  {loop.name}{' (frozen)' if loop.frozen else ''}: {task.get_coro()!r}"
            for loop in self._loops
            for task in asyncio.all_tasks(loop)
        ]
        return "; tasks:" + "".join(sorted(lines)) if lines else ""


# For type checkers the many methods that are left out on purpose would make it abstract.
_AnyLoop: Any = asyncio.AbstractEventLoop


class VirtualLoop(_AnyLoop):  # type: ignore[misc]
    """The event loop of one simulated process. What is not defined here raises NotImplementedError.

    While it is `frozen` nothing of it runs; what becomes due meanwhile runs when it goes on, as after SIGCONT. With
    `asleep`, its machine sleeps: its monotonic time stands still as well, and its timers are late by as much.
    """

    def __init__(self, time: Time, name: str) -> None:
        self._time = time
        self._thread = threading.get_ident()
        self.name = name
        self.ready: deque[asyncio.Handle] = deque()
        self.frozen = False
        self._asleep_since: float | None = None
        self._slept = 0.0
        self._fired = 0.0
        self._late: list[asyncio.TimerHandle] = []
        self.errors: list[dict[str, Any]] = []
        """What was raised where nobody caught it."""
        time.add_loop(self)

    def __repr__(self) -> str:
        return f"<the loop of {self.name}>"

    def run_ready(self) -> None:
        """What is ready now, and not what that makes ready; less if it freezes this loop."""
        events._set_running_loop(self)
        try:
            for _ in range(len(self.ready)):
                handle = self.ready.popleft()
                if not handle.cancelled():
                    handle._run()
                if self.frozen:
                    return
        finally:
            events._set_running_loop(None)

    # Sleeping

    def fall_asleep(self) -> None:
        self.frozen = True
        self._asleep_since = self._time.now

    def wake_up(self) -> None:
        self.frozen = False
        if self._asleep_since is not None:
            self._slept += self._time.now - self._asleep_since
            self._asleep_since = None
        late, self._late = self._late, []
        for handle in late:
            self._time.add_timer(handle.when() + self._slept, self, handle)

    def fires(self, handle: asyncio.TimerHandle, moment: float) -> bool:
        """Whether this timer of ours is due at this moment; if not, it is put off."""
        if self._asleep_since is not None:
            self._late.append(handle)
            return False
        due = handle.when() + self._slept
        if due > moment:
            self._time.add_timer(due, self, handle)
            return False
        self._fired = max(self._fired, handle.when())
        self.ready.append(handle)
        return True

    # What asyncio asks of a loop

    def time(self) -> float:
        """Never before the moment of a timer that has fired, whatever rounding makes of it."""
        slept = self._slept
        if self._asleep_since is not None:
            slept += self._time.now - self._asleep_since
        return max(self._fired, self._time.now - slept) if slept else self._time.now

    def call_soon(self, callback: Callable[..., Any], *args: Any, context: Context | None = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self.ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        if threading.get_ident() != self._thread:
            raise RuntimeError(
                f"a thread called back into {self!r}: nothing that is simulated may run in threads, "
                "because their order is not drawn from the seed"
            )
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., Any], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        self._time.add_timer(when + self._slept, self, handle)
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Nothing to do: a cancelled timer is passed over when its moment comes."""

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self,
        coro: Any,
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=self, name=name, context=context)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> NoReturn:
        raise RuntimeError(
            f"{func!r} was to be run in a thread of {self!r}: nothing that is simulated may; "
            "give the simulation a part that does it on the loop"
        )

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.errors.append(context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False


def run_alone(main: Coroutine[Any, Any, T], seed: int = 0) -> T:
    """Run one coroutine in virtual time, as asyncio.run() would in real time."""
    loop = VirtualLoop(Time(Random(seed)), "alone")
    task = loop.create_task(main)
    loop._time.run(task.done)
    if loop.errors:
        raise AssertionError(f"{loop!r} caught: {loop.errors}")
    result: T = task.result()
    return result
