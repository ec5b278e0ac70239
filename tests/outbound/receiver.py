"""A server on this machine that answers as a test says, byte by byte, and keeps what it was sent."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

TLS = Path(__file__).parent / "tls"
AUTHORITY = str(TLS / "authority.pem")
"""Signs the certificate of receiver.test, and is known to nobody else."""
PATIENCE_SECONDS = 30.0

Answering = Callable[[socket.socket], None]


class Receiver:
    """Takes one connection after the other. `requests` are those that came whole, `connections` counts all."""

    def __init__(self, answering: Answering, *, tls: bool, at_once: bytes | None) -> None:
        self._answering = answering
        self._tls = self._context() if tls else None
        self._at_once = at_once
        self._door = socket.create_server(("127.0.0.1", 0))
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port: int = self._door.getsockname()[1]
        self.connections = 0
        self.requests: list[bytes] = []
        self.names: list[str | None] = []
        """Which were asked for by TLS."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._closed.set()
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port), PATIENCE_SECONDS).close()
        self._thread.join(PATIENCE_SECONDS)
        self._door.close()
        assert not self._thread.is_alive()

    def _serve(self) -> None:
        while True:
            connection, _ = self._door.accept()
            with connection, contextlib.suppress(OSError):
                if self._closed.is_set():
                    return
                self.connections += 1
                connection.settimeout(PATIENCE_SECONDS)
                if self._at_once is None:
                    self._talk(connection)
                else:
                    connection.recv(65536)
                    connection.sendall(self._at_once)

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(TLS / "receiver.pem")
        context.sni_callback = lambda _, name, __: self.names.append(name)
        return context

    def _talk(self, connection: socket.socket) -> None:
        if self._tls is not None:
            connection = self._tls.wrap_socket(connection, server_side=True)
        with connection:
            if request := read_request(connection):
                self.requests.append(request)
                self._answering(connection)
                with contextlib.suppress(OSError):  # What is closed on unread bytes takes back what was answered.
                    connection.shutdown(socket.SHUT_WR)
                    connection.recv(1)


def read_request(connection: socket.socket) -> bytes:
    """Head and body; nothing if it does not come whole."""
    request = b""
    while not _is_whole(request):
        part = connection.recv(65536)
        if not part:
            return b""
        request += part
    return request


def _is_whole(request: bytes) -> bool:
    head, end, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
    return bool(end) and len(body) >= (int(length[1]) if length else 0)


@contextlib.contextmanager
def receiver(*answers: bytes | Answering, tls: bool = False, at_once: bytes | None = None) -> Iterator[Receiver]:
    """Each request gets the next answer, all that follow the last one. `at_once` is said to whatever comes first, and
    then it hangs up.
    """
    left = list(answers) or [answer(200)]

    def answering(connection: socket.socket) -> None:
        one = left.pop(0) if len(left) > 1 else left[0]
        if callable(one):
            one(connection)
        else:
            connection.sendall(one)

    server = Receiver(answering, tls=tls, at_once=at_once)
    server.start()
    try:
        yield server
    finally:
        server.close()


def answer(status: int, body: bytes = b"ok", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Word", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def sent_headers(request: bytes) -> dict[str, str]:
    """By their names in small letters."""
    lines = request.partition(b"\r\n\r\n")[0].decode("ascii").split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def sent_body(request: bytes) -> bytes:
    return request.partition(b"\r\n\r\n")[2]


def rows(*addresses: str) -> list[tuple[Any, ...]]:
    """What socket.getaddrinfo answers."""
    return [
        (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (one, 0, 0, 0))
        if ":" in one
        else (socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, 0))
        for one in addresses
    ]


class Names:
    """A name server: each answer is given once, the last one for ever. `asked` are the names, in order."""

    def __init__(self, *answers: list[tuple[Any, ...]]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, *, type: int) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
