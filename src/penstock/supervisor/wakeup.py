"""What can wake the supervisor: signals, the end of a child, and word from another thread, all as one sleep."""

from __future__ import annotations

import os
import select
import signal
from collections import deque
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class Wakeup:
    """Collects signals and news while open. In the main thread only."""

    def __init__(self) -> None:
        self.signals: deque[signal.Signals] = deque()
        self.news: deque[str] = deque()

    def __enter__(self) -> Wakeup:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._wakeup_fd = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_fd)
        os.close(self._reader)
        os.close(self._writer)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if number != signal.SIGCHLD:
            self.signals.append(signal.Signals(number))

    def tell(self, news: str) -> None:
        """Wake the supervisor with news, from any thread."""
        self.news.append(news)
        try:
            os.write(self._writer, b"n")
        except BlockingIOError:
            pass  # Full: it is awake already.

    def sleep(self, seconds: float | None) -> None:
        """Until something happens, at most this long."""
        select.select([self._reader], [], [], seconds)
        try:
            while os.read(self._reader, 4096):
                pass
        except BlockingIOError:
            pass
