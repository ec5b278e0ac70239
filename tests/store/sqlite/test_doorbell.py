"""Rings between processes: sent at once, then coalesced; without them polling still finds the work."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator

import pytest

from penstock.store.sqlite.connection import doorbell
from penstock.store.sqlite.connection.doorbell import Bells
from penstock.store.sqlite.store import SqliteStore
from tests.store.sqlite.conftest import MakeStore, enqueue


@pytest.fixture
def ear() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ear:
        ear.bind(("127.0.0.1", 0))
        ear.settimeout(10)
        yield ear


def test_the_first_ring_goes_out_and_the_next_is_owed(ear: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doorbell, "RING_SECONDS_MIN", 3600.0)
    port = ear.getsockname()[1]
    bells = Bells()
    bells._last = float("-inf")
    owed = []
    for _ in range(3):
        bells.ring([port])
        owed.append(bells.owed)
    assert ear.recv(64).startswith(doorbell.RING + b" ")
    bells.ring_owed()
    owed.append(bells.owed)
    assert ear.recv(64).startswith(doorbell.RING + b" ")
    assert owed == [False, True, True, False]
    bells.close()
    bells.close()
    ear.setblocking(False)
    with pytest.raises(BlockingIOError):
        ear.recv(64)


def test_a_port_that_cannot_be_rung_is_passed_over(ear: socket.socket) -> None:
    bells = Bells()
    bells.ring([0, ear.getsockname()[1]])
    assert ear.recv(64).startswith(doorbell.RING + b" ")
    bells.close()


def test_without_a_loopback_interface_polling_finds_it(
    store: SqliteStore, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Deaf(socket.socket):
        def bind(self, address: object) -> None:
            raise OSError("no such interface")

    async def main() -> bool:
        with monkeypatch.context() as patched:
            patched.setattr(socket, "socket", Deaf)
            listener = store.listen(0.01)
        try:
            assert listener.bell is None
            await asyncio.to_thread(enqueue, make_store())
            return await listener.wait(10)
        finally:
            listener.close()

    assert asyncio.run(main())


def test_a_store_that_broke_counts_as_news(store: SqliteStore) -> None:
    async def main() -> bool:
        listener = store.listen(0.01)
        store.close()
        try:
            return await listener.wait(10)
        finally:
            listener.close()

    assert asyncio.run(main())
