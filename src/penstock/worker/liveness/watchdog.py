"""Notices a blocked event loop, names the handler that blocks it, and does what cannot wait until it turns again."""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType, FrameType

from penstock.domain.registry import Registry
from penstock.observe.redaction import log_error

BLOCKED_SECONDS = 1.0
LATE_SECONDS = 0.5
LOOK_SECONDS = 0.25
TICK_SECONDS = 0.1

log = logging.getLogger("penstock.worker")


class Watchdog:
    """A timer that ticks on the running loop, and a thread that looks whether it still does."""

    def __init__(self, registry: Registry) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._handlers = _handler_code(registry)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-watchdog", daemon=True)
        self.blocked = 0
        self.meanwhile: Callable[[], None] = lambda: None
        """Called from a thread, again and again, while the loop does not turn."""
        self._ticks()
        self._thread.start()

    def _ticks(self) -> None:
        self._tick = time.monotonic()
        self._timer = self._loop.call_later(TICK_SECONDS, self._ticks)

    def age(self) -> float:
        """Seconds since the loop turned, from any thread. A tenth of one is nothing unusual."""
        return time.monotonic() - self._tick

    def close(self) -> None:
        self._timer.cancel()
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        reported = 0.0
        while not self._stop.wait(LOOK_SECONDS):
            tick, silent = self._tick, self.age()
            if silent > LATE_SECONDS:
                self._do_meanwhile()
            if silent > BLOCKED_SECONDS and tick != reported:
                reported = tick
                self.blocked += 1
                self._report(silent)

    def _do_meanwhile(self) -> None:
        try:
            self.meanwhile()
        except Exception as error:  # Whatever it is: a blocked loop must still be noticed.
            log_error(log, logging.ERROR, error, "could not do what is done while the event loop is blocked")

    def _report(self, silent: float) -> None:
        frame = sys._current_frames().get(self._loop_thread)
        handler, place = _blame(frame, self._handlers)
        log.warning(
            "the event loop has been blocked for %.1f s by %s at %s; other jobs wait: await instead, or declare the "
            "handler with plain `def` so that it runs in a thread",
            silent,
            f"the handler of {handler!r}" if handler else "code outside of any handler",
            place,
        )


def _handler_code(registry: Registry) -> dict[CodeType, str]:
    return {
        declaration.function.__code__: declaration.name
        for declaration in registry
        if hasattr(declaration.function, "__code__")
    }


def _blame(frame: FrameType | None, handlers: dict[CodeType, str]) -> tuple[str | None, str]:
    """The handler on the stack, and the line of it that is running."""
    place = "an unknown place"
    if frame is not None:
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
    while frame is not None:
        if frame.f_code in handlers:
            return handlers[frame.f_code], f"{frame.f_code.co_filename}:{frame.f_lineno}"
        frame = frame.f_back
    return None, place
