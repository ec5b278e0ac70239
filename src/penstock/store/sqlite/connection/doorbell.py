"""Wake-up across processes: a datagram on the loopback interface, with a change counter polled as the floor.

A ring is a hint. A lost one costs one poll interval; a spurious one costs one look. Idle waiting reads
PRAGMA data_version, which touches shared memory only. Each ring has a number, so that all who hear it can agree on
who goes first.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
from typing import Protocol

import apsw

RING = b"penstock"
RING_BYTES_MAX = 64
RING_SECONDS_MIN = 0.0005


class Bells:
    """Rings the workers that wait on this store. The first ring goes out at once, later ones are coalesced."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._last = 0.0
        self._owed: list[int] = []
        self._turn = random.getrandbits(32)

    @property
    def owed(self) -> bool:
        """Whether a coalesced ring still has to go out."""
        return bool(self._owed)

    def ring(self, ports: list[int]) -> None:
        if time.monotonic() - self._last < RING_SECONDS_MIN:
            self._owed = ports
        else:
            self._send(ports)

    def ring_owed(self) -> None:
        self._send(self._owed)

    def _send(self, ports: list[int]) -> None:
        self._owed = []
        self._last = time.monotonic()
        self._turn += 1
        ring = b"%s %d" % (RING, self._turn)
        for port in ports:
            try:
                if self._socket is None:
                    self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                    self._socket.setblocking(False)
                self._socket.sendto(ring, ("127.0.0.1", port))
            except OSError:
                continue  # Only a hint: the worker's poll finds the job.

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Connector(Protocol):
    """Where a listener's connection comes from and goes back to."""

    def connect(self) -> apsw.Connection: ...
    def disconnect(self, db: apsw.Connection) -> None: ...


class DoorbellListener:
    """A worker's ear: waits for a ring, and looks at the change counter every `poll_interval` seconds."""

    def __init__(self, file: Connector, poll_interval: float) -> None:
        self._file = file
        self._db = file.connect()
        self._poll_interval = poll_interval
        self._loop = asyncio.get_running_loop()
        self._heard = asyncio.Event()
        self._seen = self._counter()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.bell: int | None = None
        self.turn: int | None = None
        self._rung: int | None = None
        try:
            self._socket.setblocking(False)
            self._socket.bind(("127.0.0.1", 0))
            self._loop.add_reader(self._socket, self._on_ring)
            self.bell = self._socket.getsockname()[1]
        except (OSError, NotImplementedError):
            pass  # No loopback interface, or a loop without readers: polling alone.

    def _on_ring(self) -> None:
        try:
            while True:
                self._rung = turn_of(self._socket.recv(RING_BYTES_MAX))
        except OSError:
            pass
        self._heard.set()

    def _counter(self) -> int | None:
        try:
            value = self._db.execute("PRAGMA data_version").get
        except apsw.Error:
            return None  # Unknown counts as changed: the claim that follows reports what is wrong.
        return value if isinstance(value, int) else None

    async def wait(self, timeout: float) -> bool:
        end = self._loop.time() + timeout
        while True:
            rest = end - self._loop.time()
            if rest <= 0:
                return False
            timer = self._loop.call_later(min(rest, self._poll_interval), self._heard.set)
            await self._heard.wait()
            timer.cancel()
            self._heard.clear()
            self.turn, self._rung = self._rung, None
            now = self._counter()
            if now is None or now != self._seen:
                self._seen = now
                return True

    def close(self) -> None:
        if self.bell is not None:
            self._loop.remove_reader(self._socket)
        self._socket.close()
        self._file.disconnect(self._db)


def turn_of(ring: bytes) -> int | None:
    """The number of a ring. Anybody may send anything to the port."""
    number = ring.removeprefix(RING).strip()
    return int(number) if number.isdigit() else None
