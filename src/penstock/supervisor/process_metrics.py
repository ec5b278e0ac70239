"""The metrics of all worker processes as one: each is asked over a socket of its own, and nobody is waited for long.

Counts never fall: those of a process that has ended, or does not answer, stand as they were known last. A thread reads
whatever comes, so that a process is never held up by a supervisor that nobody asks.
"""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress

from penstock.observe.metrics.shown import Shown, counts, together, unpack
from penstock.worker.liveness.metrics_channel import LENGTH_BYTES
from penstock.worker.liveness.own_metrics import MetricsPage

ANSWER_SECONDS_MAX = 1.0
"""A scrape has ten seconds by default."""
LAST_WORD_SECONDS = 5.0
"""For so long after its end something of a process may still be on its way."""
READ_BYTES = 65536


class Link:
    """The supervisor's end of one process's socket, and what came over it."""

    def __init__(self, number: int, end: socket.socket) -> None:
        self.number = number
        self.end = end
        self.newest: Shown = {}
        self.asked = 0
        self.answered = 0
        self.ended_at: float | None = None
        self.silent = False
        """The other end is closed."""
        self._read = bytearray()

    def ask(self) -> None:
        """Unless it still owes an answer."""
        if self.asked == self.answered:
            self.asked += 1
            with suppress(OSError):
                self.end.send(b"?")

    def hear(self) -> None:
        try:
            heard = self.end.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            heard = b""
        self.silent = not heard
        self._read += heard
        for packed in self._frames():
            self.newest, self.answered = unpack(packed), self.asked

    def _frames(self) -> Iterator[bytes]:
        while len(self._read) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self._read[:LENGTH_BYTES])
            if len(self._read) < end:
                return
            yield bytes(self._read[LENGTH_BYTES:end])
            del self._read[:end]


class ProcessMetrics:
    """Of the processes with the numbers from 1 to `processes`. Safe in threads."""

    def __init__(self, processes: int) -> None:
        self._numbers = range(1, processes + 1)
        self._news = threading.Condition()
        self._links: dict[int, Link] = {}
        self._past: Shown = {}
        """Counts of processes that are gone."""
        self._waiting = selectors.DefaultSelector()
        self._bell, self._ear = socket.socketpair()
        self._waiting.register(self._ear, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._listen, name="penstock-process-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._bell.send(b"c")
        self._thread.join()
        for link in self._links.values():
            link.end.close()
        for end in (self._bell, self._ear, self._waiting):
            end.close()

    def add(self, number: int, pid: int, end: socket.socket) -> None:
        """A process has begun. `end` is ours of its socket."""
        end.setblocking(False)
        with self._news:
            self._forget_ended()
            if pid in self._links:  # One before it had the same.
                self._forget(pid)
            link = self._links[pid] = Link(number, end)
            self._waiting.register(end, selectors.EVENT_READ, link)

    def end(self, pid: int) -> None:
        """It is gone; its last word may still be read."""
        with self._news:
            if pid in self._links:
                self._links[pid].ended_at = time.monotonic()

    def __call__(self) -> Shown:
        """What all of them show, within a moment."""
        with self._news:
            self._forget_ended()
            asked = [link for link in self._links.values() if link.ended_at is None and not link.silent]
            for link in asked:
                link.ask()
            numbers = {link: link.asked for link in asked}
            self._news.wait_for(
                lambda: all(link.answered >= number or link.silent for link, number in numbers.items()),
                ANSWER_SECONDS_MAX,
            )
            return self._together([link for link, number in numbers.items() if link.answered >= number])

    def _together(self, answering: list[Link]) -> Shown:
        others = [counts(link.newest) for link in self._links.values() if link not in answering]
        up = {link.number for link in answering}
        return {
            **together([self._past, *others, *(link.newest for link in answering)]),
            "supervisor_process_up": {(str(number),): float(number in up) for number in self._numbers},
        }

    def _forget_ended(self) -> None:
        """Of whoever has said its last, only the counts are kept."""
        before = time.monotonic() - LAST_WORD_SECONDS
        for pid, link in list(self._links.items()):
            if link.ended_at is not None and (link.silent or link.ended_at < before):
                self._forget(pid)

    def _forget(self, pid: int) -> None:
        link = self._links.pop(pid)
        self._past = together([self._past, counts(link.newest)])
        if not link.silent:
            self._waiting.unregister(link.end)
        link.end.close()

    def _listen(self) -> None:
        while True:
            for key, _ in self._waiting.select():
                if key.data is None:
                    return
                with self._news:
                    if key.data.end.fileno() >= 0:
                        self._hear(key.data)

    def _hear(self, link: Link) -> None:
        link.hear()
        if link.silent:
            self._waiting.unregister(link.end)
        self._news.notify_all()


@contextmanager
def shown_together(place: str, prefix: str, processes: int) -> Iterator[ProcessMetrics]:
    """For the duration of the block they are served at this address."""
    with closing(ProcessMetrics(processes)) as metrics, closing(MetricsPage(place, prefix, metrics)):
        yield metrics
