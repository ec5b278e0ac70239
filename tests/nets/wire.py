"""Between a store and its server: sees what is asked as PostgreSQL's own protocol says it, and can hold it back.

Knows nothing of the store. A request is what the server answers as one: a simple query, or all up to a Sync.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tests.postgres.private import HOST

CHUNK = 65536
UNTIL_SYNC = b"PBDEC"
"""Parse, Bind, Describe, Execute, Close: they wait for the Sync (or Flush) that sends them off."""


class Wire:
    """Listens at `port` and carries every connection on. `asked` is called before a request that does something goes
    on, and holds it back while it does not return; `noticed` with every notice of the server.
    """

    def __init__(self, port: int, asked: Callable[[str], None], noticed: Callable[[str], None]) -> None:
        self._target = (HOST, port)
        self._asked, self._noticed = asked, noticed
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        _thread(self._take)

    def close(self) -> None:
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _take(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets.append(one)
            _thread(self._ask, client, server)
            _thread(self._answer, server, client)

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        """The way of the questions. The first message has no kind."""
        with _ending(client, server):
            read = _Reader(client)
            server.sendall(read.first())
            texts: dict[bytes, str] = {}
            batch, does, said = b"", False, ""
            for kind, body in read.messages():
                batch += _message(kind, body)
                if kind == b"P":
                    name, text, *_ = body.split(b"\0")
                    texts[name] = said = text.decode()
                elif kind == b"B":
                    said = texts.get(body.split(b"\0")[1], "")
                elif kind == b"Q":
                    said = body.rstrip(b"\0").decode()
                does = does or kind in b"QE"
                if kind in UNTIL_SYNC:
                    continue
                if does:
                    self._asked(said)
                server.sendall(batch)
                batch, does = b"", False

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with _ending(client, server):
            for kind, body in _Reader(server).messages():
                if kind == b"N":
                    fields = {field[:1]: field[1:] for field in body.split(b"\0")}
                    self._noticed(fields.get(b"M", b"").decode())
                client.sendall(_message(kind, body))


class _Reader:
    def __init__(self, source: socket.socket) -> None:
        self._source = source
        self._data = b""

    def first(self) -> bytes:
        head = self._take(4)
        return head + self._take(struct.unpack(">i", head)[0] - 4)

    def messages(self) -> Iterator[tuple[bytes, bytes]]:
        while True:
            kind = self._take(1)
            yield kind, self._take(struct.unpack(">i", self._take(4))[0] - 4)

    def _take(self, count: int) -> bytes:
        while len(self._data) < count:
            more = self._source.recv(CHUNK)
            if not more:
                raise ConnectionError
            self._data += more
        taken, self._data = self._data[:count], self._data[count:]
        return taken


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">i", len(body) + 4) + body


@contextlib.contextmanager
def _ending(*both: socket.socket) -> Iterator[None]:
    """Whichever side ends, both are ended."""
    try:
        yield
    except OSError:
        pass
    finally:
        for one in both:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def _thread(work: Callable[..., None], *given: Any) -> None:
    threading.Thread(target=work, args=given, daemon=True).start()
