"""Sends messages to sinks, each sink by itself, in bounded time; and says once when one fails, and when it is over.

In threads of its own, that nobody waits for at the end: a receiver that does not answer must not keep a worker from
stopping, and what it was sent last is sent again by whoever leads next.
"""

from __future__ import annotations

import asyncio
import logging
import random
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from penstock.domain.clock import Clock
from penstock.domain.errors import OutboundError
from penstock.domain.options import Backoff
from penstock.observe.logs import fields
from penstock.observe.redaction import told
from penstock.outbound.message import AlertMessage
from penstock.outbound.retrying import Patience, send_patiently
from penstock.outbound.sinks import Sink
from penstock.outbound.sinks.log import LogSink
from penstock.system.clock import SystemClock

T = TypeVar("T")

PATIENCE = Patience(tries=2, backoff=Backoff(0.5, 2.0, 1.0), asked_seconds_max=2.0)
"""Within a round. What fails in one is sent again in the next."""
ROUND_SECONDS_MAX = 20.0
"""No message is begun later than that after the first of a round."""
WAITED_SECONDS_MAX = 2.0
"""A round waits no longer for its sinks: what is found next is for the others, too."""

Answers = dict[int, str | None]
"""By the number of a message: why it is not known to have arrived, or None. Those that are missing were not sent."""
Heard = Callable[[str, Answers], Awaitable[None]]
"""Is told what became of the messages for one sink."""
CarryOut = Callable[[Callable[[], T]], Awaitable[T]]

log = logging.getLogger("penstock.alerts")


async def in_thread(work: Callable[[], T]) -> T:
    """In one that ends with the process, whatever it waits for."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def note(result: T | None, error: BaseException | None) -> None:
        if not answer.done():
            answer.set_exception(error) if error is not None else answer.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failed = None, None
        try:
            result = work()
        except BaseException as error:
            failed = error
        try:
            loop.call_soon_threadsafe(note, result, failed)
        except RuntimeError:  # The loop was closed: nobody waits any more.
            return

    threading.Thread(target=run, name="penstock-alerts", daemon=True).start()
    return await answer


class Sending:
    def __init__(
        self,
        sinks: Mapping[str, Sink],
        *,
        clock: Clock | None = None,
        carry_out: CarryOut[Answers] = in_thread,
        pause: Callable[[float], object] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.sinks = sinks
        self._clock = clock or SystemClock()
        self._carry_out = carry_out
        self._pause = pause or threading.Event().wait
        self._chance = chance
        self.failing: dict[str, str] = {}
        """Why each sink that fails now does."""
        self._tasks: dict[str, asyncio.Task[None]] = {}
        """By sink, what it was sent last."""

    @property
    def free(self) -> list[str]:
        """Those that have answered all that they were sent. To others nothing is sent: so the order is kept."""
        return [name for name in self.sinks if name not in self._tasks or self._tasks[name].done()]

    async def send(self, messages: Mapping[str, Sequence[AlertMessage]], heard: Heard) -> None:
        """To all sinks at once; `heard` learns of each as soon as it has answered, be it after this has ended."""
        if not messages:
            return
        tasks = {
            name: asyncio.create_task(self._send_and_note(name, several, heard)) for name, several in messages.items()
        }
        self._tasks |= tasks
        try:
            done, late = await asyncio.wait(tasks.values(), timeout=WAITED_SECONDS_MAX)
        except asyncio.CancelledError:
            for task in tasks.values():
                task.cancel()
            raise
        for task in late:
            task.add_done_callback(_say_if_failed)
        for error in [task.exception() for task in done]:
            if error is not None:
                raise error

    async def _send_and_note(self, name: str, messages: Sequence[AlertMessage], heard: Heard) -> None:
        answers = await self._send(name, messages)
        self._tell(name, next((error for error in answers.values() if error is not None), None))
        await heard(name, answers)

    async def _send(self, name: str, messages: Sequence[AlertMessage]) -> Answers:
        sink = self.sinks[name]
        if isinstance(sink, LogSink):
            return self._send_all(sink, messages)
        return await self._carry_out(lambda: self._send_all(sink, messages))

    def _send_all(self, sink: Sink, messages: Sequence[AlertMessage]) -> Answers:
        """Until one fails: then the others would, too."""
        answers: Answers = {}
        end = self._clock.monotonic() + ROUND_SECONDS_MAX
        for number, message in enumerate(messages):
            if self._clock.monotonic() > end:
                break
            answers[number] = self._failure(sink, message)
            if answers[number] is not None:
                break
        return answers

    def _failure(self, sink: Sink, message: AlertMessage) -> str | None:
        try:
            send_patiently(sink, message, pause=self._pause, clock=self._clock, random=self._chance, patience=PATIENCE)
        except OutboundError as error:
            return told(error)
        except Exception as error:  # A sink that is broken holds up no other.
            return f"{type(error).__name__}: {told(error)}"
        return None

    def _tell(self, name: str, error: str | None) -> None:
        """Once, not each time."""
        if error is not None:
            if name not in self.failing:
                log.error("alerts do not arrive at %s: %s; they are sent again until they do", name, error,
                          extra=fields("alerts.unheard", sink=name, reason=error))  # fmt: skip
            self.failing[name] = error
        elif self.failing.pop(name, None) is not None:
            log.warning("alerts arrive at %s again", name, extra=fields("alerts.heard", sink=name))


def _say_if_failed(task: asyncio.Task[None]) -> None:
    """Nobody waits for it any more."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        log.info("what a slow sink has answered was not stored, so that it may be sent again: %s", told(error))
