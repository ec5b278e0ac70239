"""Threads for plain handlers. A thread whose job was given up is replaced, up to a bound; it may end when it likes."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections import deque
from typing import Any

from penstock.domain.current_call import running
from penstock.worker.running.context import context_of
from penstock.worker.running.run import Ended, Unit


class Threads:
    """Up to `size` daemon threads, started when needed. Results come back to the loop in batches."""

    def __init__(self, loop: asyncio.AbstractEventLoop, size: int, done: Ended) -> None:
        self._loop = loop
        self._size = size
        self._done = done
        self._jobs: queue.SimpleQueue[Unit | None] = queue.SimpleQueue()
        self._results: deque[tuple[Unit, Any, BaseException | None]] = deque()
        self._lock = threading.Lock()
        self._telling = False
        self._count = 0
        self._idle = 0

    def start(self, run: Unit) -> None:
        with self._lock:
            if self._idle > 0:
                self._idle -= 1
            elif self._count < self._size:
                self._spawn()
        self._jobs.put(run)

    def give_up(self) -> None:
        """A thread is stuck in a job that was given up: let another take its place."""
        with self._lock:
            self._size += 1

    def resize(self, more: int) -> None:
        """So many more threads may be started; of fewer, those there are go on."""
        with self._lock:
            self._size += more

    def close(self) -> None:
        for _ in range(self._count):
            self._jobs.put(None)

    def _spawn(self) -> None:
        self._count += 1
        threading.Thread(target=self._work, name=f"penstock-job-{self._count}", daemon=True).start()

    def _work(self) -> None:
        while (run := self._jobs.get()) is not None:
            context = contextvars.copy_context()
            result, error = context.run(_call, run)
            abandoned = run.over
            self._results.append((run, result, error))
            del context, result, error, run
            with self._lock:
                tell, self._telling = not self._telling, True
                if abandoned:
                    self._size -= 1
                    self._count -= 1
                else:
                    self._idle += 1
            if tell:
                self._tell()
            if abandoned:
                return

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:
            pass  # The loop is closed: the worker has stopped and given this job up.

    def _deliver(self) -> None:
        with self._lock:
            self._telling = False
        while self._results:
            self._done(*self._results.popleft())


def _call(run: Unit) -> tuple[Any, BaseException | None]:
    running.set(run)
    try:
        return run.call(context_of), None
    except BaseException as error:
        return None, error
