"""Serves a worker's health, or metrics, over HTTP, from threads of its own: also while the event loop is blocked.

Only GET and HEAD, one request per connection. Whoever connects may be slow, hostile or broken, and must not cost more
than a few threads for a few seconds: connections are bounded in number (a newcomer takes the place of the oldest, so
that idle ones cannot keep a probe out), in time and in size. Nothing waits for them at the end.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import selectors
import socket
import sys
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedIOBase
from socketserver import TCPServer
from time import sleep
from typing import Any

from penstock.domain.errors import ConfigError
from penstock.observe.redaction import log_error
from penstock.worker.liveness.health_address import joined, split
from penstock.worker.liveness.http_answer import Answer

AT_THE_DOOR_MAX = 128
"""More would have to knock again, a second later."""
CONNECTIONS_MAX = 8
THREADS_MAX = 16
REQUEST_SECONDS_MAX = 5.0
REQUEST_BYTES_MAX = 16 * 1024
SWEEP_SECONDS = 1.0
PAUSE_SECONDS = 0.1
CLOSE_SECONDS_MAX = 1.0
REST_SECONDS, REST_READS = 0.2, 8
ROOM_SECONDS_MAX = 0.5
"""How long a newcomer waits while the threads of those that were hung up on come to their end."""

log = logging.getLogger("penstock.worker")


class HealthServer:
    """Listens as soon as it is made, answers from `start` to `close`. `address` is where: the port is the real one.

    `key` is the setting that says where, and `flag` that of the command line.
    """

    def __init__(
        self, place: str, answers: Callable[[str], Answer], key: str = "worker.health", flag: str = "--health"
    ) -> None:
        self._door = _listen(place, answers, key, flag)
        host, port = self._door.server_address[:2]
        self.address: tuple[str, int] = str(host), port
        self._closed = threading.Event()
        self._bell, self._ear = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name=f"penstock-{flag.strip('-')}", daemon=True)

    @property
    def place(self) -> str:
        """The address as it is written in a URL."""
        return joined(*self.address)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Hang up on everybody. Safe to call again, or without a start."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._bell.send(b"c")
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS_MAX)
        self._door.server_close()
        self._door.hang_up_on_all()
        self._bell.close()
        self._ear.close()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._door, selectors.EVENT_READ)
            waiting.register(self._ear, selectors.EVENT_READ)
            while not self._closed.is_set():
                waiting.select(SWEEP_SECONDS if self._door.busy else None)
                if not self._closed.is_set():
                    self._door.handle_request()
                    self._door.hang_up_on_late()


def _listen(place: str, answers: Callable[[str], Answer], key: str, flag: str) -> _Door:
    host, port = split(place)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return _Door((host, port), family, answers)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"{key}={place!r}: another program listens on this port, perhaps another worker; choose "
                f"another one, port 0 for any that is free, or off ({flag} HOST:PORT)"
            ) from None
        raise ConfigError(
            f"{key}={place!r}: cannot listen there ({error.strerror or error}); name an address of this "
            f"machine, such as 127.0.0.1:0, or off ({flag} HOST:PORT)"
        ) from None


class _Door(ThreadingHTTPServer):
    """Lets connections in, and keeps their number and their time bounded."""

    daemon_threads = True
    allow_reuse_port = False  # Two workers on one port would answer for each other.
    request_queue_size = AT_THE_DOOR_MAX
    timeout = 0

    def __init__(
        self, address: tuple[str, int], family: socket.AddressFamily, answers: Callable[[str], Answer]
    ) -> None:
        self.address_family = family
        self.answers = answers
        self._open: dict[socket.socket, float] = {}
        self._lock = threading.Condition()
        super().__init__(address, _Request)
        self.socket.setblocking(False)  # Whoever knocked may be gone again: nobody waits for the next.

    def server_bind(self) -> None:
        """Without the reverse lookup of the address, which can take as long as a name server likes."""
        TCPServer.server_bind(self)

    @property
    def busy(self) -> bool:
        return bool(self._open)

    def get_request(self) -> Any:
        try:
            return super().get_request()
        except OSError:
            sleep(PAUSE_SECONDS)  # Out of files, perhaps: whoever waits at the door would wake us at once again.
            raise

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            # A thread that was hung up on may not have had its turn yet: nobody is turned away for that.
            full = not self._lock.wait_for(lambda: len(self._open) < THREADS_MAX, ROOM_SECONDS_MAX)
            oldest = next(iter(self._open), None) if len(self._open) >= CONNECTIONS_MAX else None
            if not full:
                if oldest is not None:
                    self._open[oldest] = self._open.pop(oldest)  # The next newcomer takes the place of another.
                self._open[request] = time.monotonic()
        if oldest is not None:
            _hang_up(oldest)
        if full:
            self.shutdown_request(request)
        else:
            super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
            self._lock.notify()
        super().shutdown_request(request)

    def hang_up_on_late(self) -> None:
        self._hang_up_before(time.monotonic() - REQUEST_SECONDS_MAX)

    def hang_up_on_all(self) -> None:
        self._hang_up_before(float("inf"))

    def _hang_up_before(self, moment: float) -> None:
        with self._lock:
            found = [request for request, since in self._open.items() if since < moment]
        for request in found:
            _hang_up(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exc_info()[1]
        if error is not None:
            log_error(log, logging.DEBUG, error, "a request over HTTP failed")


def _hang_up(request: socket.socket) -> None:
    """Its thread wakes up and ends by itself."""
    with contextlib.suppress(OSError):
        request.shutdown(socket.SHUT_RDWR)


class _Request(BaseHTTPRequestHandler):
    """One request. The base class answers what is no HTTP, and every method that is not defined here, with an error."""

    server: _Door
    timeout = REQUEST_SECONDS_MAX
    error_message_format = "%(code)d %(message)s\n"
    error_content_type = "text/plain; charset=utf-8"

    def setup(self) -> None:
        super().setup()
        self.rfile = _Bounded(self.rfile)  # type: ignore[assignment]

    def answer(self) -> None:
        try:
            given = self.server.answers(self.path)
            body = given.body
        except Exception as error:
            log_error(log, logging.ERROR, error, "what was asked over HTTP could not be told")
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, "see the log")
            return
        self.send_response(given.status)
        self.send_header("Content-Type", given.content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = answer  # noqa: N815 — the names that http.server looks for

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """And read the rest of what was refused, as far as it comes at once: to close a connection on bytes that nobody
        has read makes the system take back the answer, too.
        """
        super().send_error(code, message, explain)
        with contextlib.suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(REST_SECONDS)
            for _ in range(REST_READS):
                if not self.connection.recv(REQUEST_BYTES_MAX):
                    break

    def version_string(self) -> str:
        return "penstock"

    def log_message(self, format: str, *args: Any) -> None:
        log.debug("over HTTP: %r", format % args)


class _Bounded:
    """A request is read up to a bound. The base class answers what follows with 431."""

    def __init__(self, stream: BufferedIOBase) -> None:
        self._stream = stream
        self._left = REQUEST_BYTES_MAX

    def readline(self, limit: int = -1) -> bytes:
        if self._left <= 0:
            raise LineTooLong("header")
        line = self._stream.readline(self._left if limit < 0 else min(limit, self._left))
        self._left -= len(line)
        return line

    def close(self) -> None:
        self._stream.close()
