"""The failing network fails as it says, seen from a client of a plain echo server."""

from __future__ import annotations

import contextlib
import gc
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.postgres.processes import wait_until
from tests.postgres.proxy import Proxy

SECONDS = 30.0
SILENCE = 0.2


class Echo(socketserver.ThreadingTCPServer):
    """Answers what it is told, and remembers all of it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), EchoHandler)
        self.heard = b""

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class EchoHandler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, Echo)
        try:
            while chunk := self.request.recv(65536):
                self.server.heard += chunk
                self.request.sendall(chunk)
        except OSError:
            pass  # A fault ended the connection.


@pytest.fixture
def echo() -> Iterator[Echo]:
    with Echo() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def proxy(echo: Echo) -> Iterator[Proxy]:
    with Proxy(echo.port) as proxy:
        yield proxy


Connect = Callable[[], socket.socket]


@pytest.fixture
def connect(proxy: Proxy) -> Iterator[Connect]:
    opened: list[socket.socket] = []

    def open_one() -> socket.socket:
        opened.append(socket.create_connection((proxy.host, proxy.port), timeout=SECONDS))
        return opened[-1]

    yield open_one
    for client in opened:
        client.close()


def ask(client: socket.socket, question: bytes) -> bytes:
    """The answer to a question; less than all of it when the connection ends."""
    client.sendall(question)
    return receive(client, len(question))


def receive(client: socket.socket, count: int) -> bytes:
    answer = b""
    while len(answer) < count and (chunk := client.recv(count - len(answer))):
        answer += chunk
    return answer


def is_silent(client: socket.socket) -> bool:
    """Whether nothing comes, not even an end, for as long as anybody cares to listen."""
    client.settimeout(SILENCE)
    try:
        client.recv(1)
    except TimeoutError:
        return True
    finally:
        client.settimeout(SECONDS)
    return False


def has_ended(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_it_carries_both_ways_and_on_many_connections(connect: Connect) -> None:
    clients = [connect() for _ in range(5)]
    for number, client in enumerate(clients):
        assert ask(client, b"%d" % number * 200_000) == b"%d" % number * 200_000
    assert ask(clients[0], b"again") == b"again"


def test_an_end_is_carried_too(proxy: Proxy, connect: Connect) -> None:
    client = connect()
    assert ask(client, b"one") == b"one"
    assert proxy.connections == 1
    client.close()
    wait_until(lambda: proxy.connections == 0, "the proxy has let go of the connection")


def test_a_black_hole_swallows_both_ways_until_healed(proxy: Proxy, echo: Echo, connect: Connect) -> None:
    client = connect()
    assert ask(client, b"before") == b"before"
    proxy.black_hole()
    client.sendall(b"into the hole")
    assert is_silent(client)
    assert echo.heard == b"before"
    proxy.heal()
    assert receive(client, 13) == b"into the hole"


def test_a_black_hole_lets_new_connections_open_but_says_nothing(proxy: Proxy, connect: Connect) -> None:
    proxy.black_hole()
    client = connect()
    client.sendall(b"hello")
    assert is_silent(client)
    proxy.heal()
    assert receive(client, 5) == b"hello"


def test_dropped_answers_are_lost_though_the_server_heard(proxy: Proxy, echo: Echo, connect: Connect) -> None:
    client = connect()
    proxy.drop_answers()
    client.sendall(b"do it")
    proxy.wait_for_dropped_answer()
    assert echo.heard == b"do it"
    assert is_silent(client)
    proxy.cut()
    assert has_ended(client)


def test_a_connection_that_lost_an_answer_never_hears_a_later_one(proxy: Proxy, connect: Connect) -> None:
    torn, whole = connect(), connect()
    assert ask(whole, b"whole") == b"whole"
    proxy.drop_answers()
    torn.sendall(b"lost")
    proxy.wait_for_dropped_answer()
    proxy.delay(0.001)
    torn.sendall(b"later")
    assert is_silent(torn)
    proxy.heal()
    assert has_ended(torn)
    assert ask(whole, b"still") == b"still"


def test_no_dropped_answer_is_an_error(proxy: Proxy) -> None:
    proxy.drop_answers()
    with pytest.raises(TimeoutError, match="an answer of the server"):
        proxy.wait_for_dropped_answer(0.01)


def test_refused_means_ended_and_no_new_ones(proxy: Proxy, connect: Connect) -> None:
    client = connect()
    assert ask(client, b"one") == b"one"
    proxy.refuse()
    assert has_ended(client)
    with pytest.raises(ConnectionRefusedError):
        connect()
    proxy.heal()
    assert ask(connect(), b"two") == b"two"


def test_cut_ends_what_is_open_and_serves_what_comes(proxy: Proxy, connect: Connect) -> None:
    client = connect()
    assert ask(client, b"one") == b"one"
    proxy.cut()
    assert has_ended(client)
    assert ask(connect(), b"two") == b"two"


def test_a_delay_counts_in_each_direction(proxy: Proxy, connect: Connect) -> None:
    client = connect()
    proxy.delay(0.1)
    began = time.monotonic()
    assert ask(client, b"slow") == b"slow"
    assert time.monotonic() - began >= 0.2  # Never less, however busy the machine is.


def test_a_target_that_is_not_there_ends_the_connection(proxy: Proxy, echo: Echo) -> None:
    with Proxy(1) as nowhere, socket.create_connection((nowhere.host, nowhere.port), timeout=SECONDS) as client:
        assert has_ended(client)


def test_it_leaves_nothing_open_of_those_that_came_as_it_ended(echo: Echo) -> None:
    """What it left open would be a warning, and so a failure of this test or of one that has nothing to do with it."""
    for _ in range(20):
        proxy = Proxy(echo.port)
        held = threading.Event()
        with proxy:
            proxy._loop.call_soon_threadsafe(held.wait, SECONDS)
            clients = [socket.create_connection((proxy.host, proxy.port), timeout=SECONDS) for _ in range(5)]
            threading.Timer(0.01, held.set).start()
        for client in clients:
            with client, contextlib.suppress(ConnectionError):
                assert client.recv(1) == b""
        del proxy
        gc.collect()
