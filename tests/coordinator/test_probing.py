"""One probe: real sockets, whatever is at the other end."""

from __future__ import annotations

import asyncio
import socket

import pytest

from penstock.coordinator.duties import probes
from penstock.coordinator.duties.probes import answers


async def asked(reply: bytes | None, path: str = "/ready?worker=a-b") -> tuple[bool | None, bytes]:
    """What a probe makes of a server that replies so, and what that server heard. None is silence."""
    heard: list[bytes] = []
    silent = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        if reply is None:
            await silent.wait()
        else:
            writer.write(reply)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        found = await answers(f"http://127.0.0.1:{port}{path}")
    finally:
        silent.set()
        server.close()
    return found, heard[0]


def test_a_worker_that_is_well() -> None:
    assert asyncio.run(asked(b"HTTP/1.0 200 OK\r\n\r\nready")) == (True, b"GET /ready?worker=a-b HTTP/1.0\r\n")


@pytest.mark.parametrize(
    "reply", [b"HTTP/1.0 503 Unavailable\r\n\r\n", b"HTTP/1.1 404 Not Found\r\n\r\n", b"", b"\xff\x00\n", b"200\n"]
)
def test_all_else_is_a_miss(reply: bytes) -> None:
    assert not asyncio.run(asked(reply))[0]


def test_one_that_says_that_it_is_not_ready_has_answered() -> None:
    assert asyncio.run(asked(b"HTTP/1.0 503 Unavailable\r\n\r\n"))[0] is False
    assert asyncio.run(asked(b"HTTP/1.0 404 Not Found\r\n\r\n"))[0] is None


def test_silence_is_a_miss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "ANSWER_SECONDS_MAX", 0.05)
    assert not asyncio.run(asked(None))[0]


def test_nobody_there_is_a_miss() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert not asyncio.run(answers(f"http://127.0.0.1:{port}/ready"))


def test_an_address_that_is_none_is_a_miss() -> None:
    assert not asyncio.run(answers("http://127.0.0.1:none/"))
