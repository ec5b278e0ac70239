"""Notices a blocked event loop and names the handler that blocks it."""

from __future__ import annotations

import logging
import sys
import threading
import time
from types import CodeType, FrameType

from penstock.domain.registry import Registry

BLOCKED_SECONDS = 1.0
LOOK_SECONDS = 0.25

log = logging.getLogger("penstock.worker")


class Watchdog:
    """A thread that looks whether the loop still ticks."""

    def __init__(self, registry: Registry) -> None:
        self._loop_thread = threading.get_ident()
        self._handlers = _handler_code(registry)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-watchdog", daemon=True)
        self._tick = time.monotonic()
        self.blocked = 0
        self._thread.start()

    def tick(self) -> None:
        """Called on the loop, often."""
        self._tick = time.monotonic()

    def close(self) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        reported = 0.0
        while not self._stop.wait(LOOK_SECONDS):
            tick = self._tick
            silent = time.monotonic() - tick
            if silent > BLOCKED_SECONDS and tick != reported:
                reported = tick
                self.blocked += 1
                self._report(silent)

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
