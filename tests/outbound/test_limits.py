"""Whatever a receiver does, a request costs bounded time and memory, and leaves nothing open."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from itertools import chain, repeat
from typing import cast

import pytest

from penstock.domain.errors import OutboundFailed, OutboundRefused
from penstock.domain.failure.transient import is_transient
from penstock.outbound.deadline import Deadline
from penstock.outbound.door import Door
from penstock.outbound.exchange import BODY_BYTES_MAX, send
from penstock.outbound.lookup import AT_ONCE
from tests.outbound.receiver import PATIENCE_SECONDS, receiver, rows

HEAD = b"HTTP/1.1 200 OK\r\n"
LITTLE_SECONDS = 0.2


class EachLookIsASecond:
    """A clock by which much time passes while little is done."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def monotonic(self) -> float:
        self.seconds += 1.0
        return self.seconds

    def now_us(self) -> int:
        return 0


class HasLittleLeft:
    """A clock by which no time passes for so many looks, and then all but a little has: of which step that is true does
    not depend on the machine.
    """

    def __init__(self, after: int) -> None:
        self._looks = after

    def monotonic(self) -> float:
        self._looks -= 1
        return 0.0 if self._looks >= 0 else PATIENCE_SECONDS - LITTLE_SECONDS

    def now_us(self) -> int:
        return 0


BEFORE_TLS, BEFORE_THE_REST = 5, 6
"""How often the door looks at its clock: when it begins, twice to look up a name, to connect, for the first bytes."""


def short_of_time(after: int) -> Door:
    return Door(allow_private=True, clock=HasLittleLeft(after))


class StandsStill:
    """A clock by which each step has all the time that is allowed."""

    def monotonic(self) -> float:
        return 0.0

    def now_us(self) -> int:
        return 0


class Sends:
    """Sends its pieces until the other side hangs up."""

    def __init__(self, *first: bytes, then: bytes) -> None:
        self._first = first
        self._then = then

    def __call__(self, connection: socket.socket) -> None:
        for piece in chain(self._first, repeat(self._then)):
            connection.sendall(piece)


@pytest.fixture
def end() -> Iterator[threading.Event]:
    """Set when a test is over: what waits for it waits no longer."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def door() -> Door:
    return Door(allow_private=True)


# Time


def test_a_server_that_drips_a_header_is_left_when_the_time_is_over() -> None:
    clock = EachLookIsASecond()
    door = Door(allow_private=True, clock=clock)
    late = pytest.raises(OutboundFailed, match="the answer could not be read within 6 s")
    with receiver(Sends(HEAD, b"X-Drip: ", then=b"x")) as server, late as caught:
        door.post(server.url, b"", {}, timeout=6)
    assert is_transient(caught.value)
    assert clock.seconds < 10


def test_a_server_that_drips_a_body_has_said_enough_by_its_status() -> None:
    door = Door(allow_private=True, clock=EachLookIsASecond())
    with receiver(Sends(HEAD, b"Content-Length: 1000000\r\n\r\n", then=b"x")) as server:
        got = door.post(server.url, b"", {}, timeout=8)
    assert got.ok
    assert len(got.body_start) <= BODY_BYTES_MAX


def test_a_server_that_says_nothing(end: threading.Event) -> None:
    def silent(_: socket.socket) -> None:
        end.wait(PATIENCE_SECONDS)

    with receiver(silent) as server:
        with pytest.raises(OutboundFailed, match="the answer could not be read within 30 s"):
            short_of_time(BEFORE_THE_REST).post(server.url, b"", {}, timeout=PATIENCE_SECONDS)
        end.set()


def test_a_server_that_reads_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(OutboundFailed, match="the request could not be sent within 30 s"):
            short_of_time(BEFORE_THE_REST).post(url, bytes(64 << 20), {}, timeout=PATIENCE_SECONDS)


def test_a_server_that_reads_a_byte_at_a_time() -> None:
    class Slow:
        """A connection."""

        sent = 0

        def settimeout(self, seconds: float) -> None:
            assert seconds > 0

        def send(self, data: memoryview) -> int:
            self.sent += 1
            return 1

    slow = Slow()
    with pytest.raises(TimeoutError):
        send(cast(socket.socket, slow), bytes(1000), Deadline(EachLookIsASecond(), 5))
    assert 0 < slow.sent <= 5


def test_a_server_that_does_not_begin_with_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"https://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(OutboundFailed, match="it could not be connected to within 30 s") as caught:
            short_of_time(BEFORE_TLS).post(url, b"", {}, timeout=PATIENCE_SECONDS)
    assert is_transient(caught.value)


def lookups() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "penstock-lookup"]


def test_a_name_server_that_says_nothing_and_how_many_threads_may_wait_for_it() -> None:
    answered, asked = threading.Event(), threading.Semaphore(0)

    def resolve(*_: object, type: int) -> list[tuple[object, ...]]:
        asked.release()
        answered.wait(PATIENCE_SECONDS)
        return rows("127.0.0.1")

    door = Door(resolve=resolve, clock=StandsStill())
    for _ in range(AT_ONCE + 2):
        with pytest.raises(OutboundFailed, match=r"its name could not be looked up within 0\.02 s") as caught:
            door.post("https://h.example/", b"", {}, timeout=0.02)
        assert is_transient(caught.value)
    waiting = lookups()
    assert len(waiting) == AT_ONCE
    assert all(asked.acquire(timeout=PATIENCE_SECONDS) for _ in waiting)
    assert not asked.acquire(blocking=False)
    answered.set()
    for thread in waiting:
        thread.join(PATIENCE_SECONDS)
    assert not lookups()
    with pytest.raises(OutboundRefused):  # There is room again.
        door.post("https://h.example/", b"", {}, timeout=PATIENCE_SECONDS)


# Size


@pytest.mark.parametrize(
    "said",
    [
        Sends(HEAD, b"X-Long: ", then=b"x" * 4096), Sends(HEAD, then=b"X-Many: 1\r\n"), Sends(then=b"x" * 4096),
        Sends(then=b"HTTP/1.1 100 Continue\r\n\r\n"), Sends(HEAD, then=b"X: " + b"x" * 60_000 + b"\r\n"),
    ],
    ids=["a long header", "many headers", "no line", "always about to continue", "some huge headers"],
)  # fmt: skip
def test_a_head_without_an_end_is_not_read_for_ever(door: Door, said: Sends) -> None:
    with receiver(said) as server, pytest.raises(OutboundFailed, match=r"it is (too long|no HTTP)") as caught:
        door.post(server.url, b"", {}, timeout=PATIENCE_SECONDS)
    assert not is_transient(caught.value)


@pytest.mark.parametrize(
    "said",
    [
        Sends(HEAD, b"\r\n", then=b"x" * 4096), Sends(HEAD, b"Content-Length: 9999999999\r\n\r\n", then=b"x" * 4096),
        Sends(HEAD, b"Transfer-Encoding: chunked\r\n\r\n", then=b"1;" + b"e" * 4096 + b"\r\nx\r\n"),
    ],
    ids=["until it is closed", "of a length", "in chunks that are mostly something else"],
)  # fmt: skip
def test_of_a_body_the_beginning_is_kept(door: Door, said: Sends) -> None:
    with receiver(said) as server:
        got = door.post(server.url, b"", {}, timeout=PATIENCE_SECONDS)
    assert got.ok
    assert 0 < len(got.body_start) <= BODY_BYTES_MAX == 4096
    assert set(got.body_start) == {ord("x")}
