"""One request and its answer over a connection: HTTP/1.1, bounded in time and in size. Follows no redirect."""

from __future__ import annotations

import io
import re
import socket
from collections.abc import Mapping
from http.client import HTTPException, HTTPResponse
from typing import cast

from penstock.domain.errors import OutboundRefused
from penstock.outbound.deadline import Deadline
from penstock.outbound.target import Target

ANSWER_BYTES_MAX = 64 * 1024
"""With what is not kept of it, such as headers."""
BODY_BYTES_MAX = 4 * 1024
OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "te", "trailer"})

_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")
_VALUE = re.compile(r"[ -~]{0,8000}")


class TooLong(HTTPException):
    """The answer is longer than anybody wants to read."""


def written(target: Target, body: bytes, headers: Mapping[str, str]) -> bytes:
    """The whole request."""
    _check(target, headers)
    lines = [
        f"POST {target.asked} HTTP/1.1", f"Host: {target.place}", f"Content-Length: {len(body)}", "Connection: close",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]  # fmt: skip
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def send(connection: socket.socket, request: bytes, deadline: Deadline) -> None:
    rest = memoryview(request)
    while rest:
        connection.settimeout(deadline.left())
        rest = rest[connection.send(rest) :]


def receive(connection: socket.socket, deadline: Deadline) -> tuple[int, dict[str, str], bytes]:
    """Status, headers by their names in small letters, and the beginning of the body."""
    with HTTPResponse(cast(socket.socket, _Reading(connection, deadline)), method="POST") as response:
        response.begin()
        headers = {name.lower(): str(value) for name, value in response.headers.items()}
        return response.status, headers, _body(response)


def _body(response: HTTPResponse) -> bytes:
    """Its beginning, as far as it comes: what was done with the request is told by the status."""
    body = b""
    try:
        while len(body) < BODY_BYTES_MAX and (part := response.read1(BODY_BYTES_MAX - len(body))):
            body += part
    except (OSError, HTTPException, ValueError):
        pass
    return body


class _Reading:
    """What HTTPResponse takes for a socket: makes the stream that it reads from."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(_Bounded(self._connection, self._deadline))


class _Bounded(io.RawIOBase):
    """What comes from a connection, up to a bound, and until the deadline however slowly it drips."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._left = ANSWER_BYTES_MAX

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if self._left <= 0:
            raise TooLong
        self._connection.settimeout(self._deadline.left())
        count = self._connection.recv_into(buffer[: self._left])
        self._left -= count
        return count


def _check(target: Target, headers: Mapping[str, str]) -> None:
    """A header must not end itself and begin another, nor say otherwise what the door says. Values may be secrets."""
    names = [name.lower() for name in headers]
    for name, value in headers.items():
        if not _NAME.fullmatch(name):
            raise OutboundRefused(f"{target}: the name of a header is wrong: use letters, digits and -")
        if name.lower() in OURS or names.count(name.lower()) > 1:
            raise OutboundRefused(
                f"{target}: the header {name} is given twice, or set by penstock itself: leave it out"
            )
        if not _VALUE.fullmatch(value):
            raise OutboundRefused(
                f"{target}: the value of the header {name} is wrong: use printable ASCII in one line, 8000 characters "
                "at most"
            )
