"""Health over HTTP: what is answered, and that slow, hostile and broken clients cost little and keep nobody out."""

from __future__ import annotations

import contextlib
import errno
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import pytest

from penstock.domain.errors import ConfigError
from penstock.worker.liveness import health_server
from penstock.worker.liveness.health import HealthAnswer
from penstock.worker.liveness.health_server import CONNECTIONS_MAX, REQUEST_BYTES_MAX, THREADS_MAX, HealthServer

PATIENCE_SECONDS = 30.0


def echo(target: str) -> HealthAnswer:
    if target == "/broken":
        raise ZeroDivisionError
    return HealthAnswer(HTTPStatus.SERVICE_UNAVAILABLE if target == "/ready" else HTTPStatus.OK, {"asked": target})


@pytest.fixture
def server() -> Iterator[HealthServer]:
    made = HealthServer("127.0.0.1:0", echo)
    made.start()
    yield made
    made.close()


def request(server: HealthServer, method: str, target: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection(*server.address, timeout=PATIENCE_SECONDS)
    try:
        connection.request(method, target, headers=headers)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read()
    finally:
        connection.close()


def get(server: HealthServer, target: str = "/live") -> tuple[int, Any]:
    status, _, body = request(server, "GET", target)
    return status, json.loads(body)


def connect(server: HealthServer) -> socket.socket:
    return socket.create_connection(server.address, timeout=PATIENCE_SECONDS)


def say(server: HealthServer, words: bytes) -> bytes:
    """Send these bytes and answer what comes back until the server hangs up; nothing if it did not listen."""
    heard = b""
    with connect(server) as client, contextlib.suppress(OSError):
        client.sendall(words)
        client.shutdown(socket.SHUT_WR)
        while chunk := client.recv(65536):
            heard += chunk
    return heard


def hung_up(client: socket.socket) -> bool:
    """Wait for the end of the connection."""
    try:
        while client.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


def threads() -> int:
    return sum(one.name.startswith("Thread-") and "process_request" in one.name for one in threading.enumerate())


def until(condition: Any) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.002)


# What is answered


def test_get_and_head(server: HealthServer) -> None:
    status, headers, body = request(server, "GET", "/live?worker=x")
    assert (status, json.loads(body)) == (200, {"asked": "/live?worker=x"})
    assert (headers["Content-Type"], headers["Cache-Control"]) == ("application/json", "no-store")
    assert headers["Server"] == "penstock"
    status, headers, nothing = request(server, "HEAD", "/live?worker=x")
    assert (status, nothing, headers["Content-Length"]) == (200, b"", str(len(body)))


def test_the_status_is_passed_on(server: HealthServer) -> None:
    assert get(server, "/ready")[0] == 503


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "NONSENSE"])
def test_other_methods_are_refused(server: HealthServer, method: str) -> None:
    assert request(server, method, "/live")[0] == 501


def test_an_error_of_our_own_is_logged_and_tells_nothing(
    server: HealthServer, caplog: pytest.LogCaptureFixture
) -> None:
    status, _, body = request(server, "GET", "/broken")
    assert (status, body) == (500, b"500 see the log\n")
    assert "ZeroDivisionError" in caplog.text
    assert get(server)[0] == 200


def test_a_connection_is_for_one_request(server: HealthServer) -> None:
    assert say(server, b"GET /live HTTP/1.1\r\nConnection: keep-alive\r\n\r\n" * 5).count(b"200 OK") == 1


# Hostile input


@pytest.mark.parametrize(
    "garbage",
    [b"", b"\r\n", b"\x00" * 100, b"\xff\xfe" * 500, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /live\r\n",
     b"GET /live HTTP/1.0 x y\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00" + b"tls" * 50, b"GET /\x00\r\n\r\n",
     b"GET /live HTTP/1.0\r\nbroken header\r\n\xff: \xff\r\n\r\n",
     b"GET /live HTTP/1.0\r\n" + b"a: b\r\n" * 500 + b"\r\n",
     b"POST /live HTTP/1.0\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 10_000],
    ids=range(13),
)  # fmt: skip
def test_garbage_does_no_harm(server: HealthServer, garbage: bytes) -> None:
    say(server, garbage)
    assert get(server) == (200, {"asked": "/live"})


@pytest.mark.parametrize(
    "huge",
    [
        b"GET /" + b"a" * 10_000_000,
        b"G" * 10_000_000,
        b"GET /live HTTP/1.0\r\n" + b"x: " + b"y" * 10_000_000,
        b"GET /live HTTP/1.0\r\n" + b"x: y\r\n" * 2_000_000,
    ],
    ids=["path", "method", "header", "headers"],
)
def test_a_huge_request_is_refused_and_not_kept(server: HealthServer, huge: bytes) -> None:
    said = say(server, huge)
    assert not said or said.split()[1] in (b"400", b"414", b"431")
    assert get(server)[0] == 200


def test_a_request_just_over_the_bound_is_told_so(server: HealthServer) -> None:
    line = b"GET /live HTTP/1.0\r\n"
    room = REQUEST_BYTES_MAX - len(line) - len(b"x: \r\n\r\n")
    assert b"200 OK" in say(server, line + b"x: " + b"y" * room + b"\r\n\r\n")
    assert b" 431 " in say(server, line + b"x: " + b"y" * (room - 10) + b"\r\nz: " + b"y" * 20 + b"\r\n\r\n")


def test_a_refusal_is_heard_by_whoever_is_still_speaking(server: HealthServer) -> None:
    """The rest of the request comes in pieces, and nobody has read it when the answer is given."""
    for _ in range(200):
        with connect(server) as client:
            client.sendall(b"GET /live HTTP/1.0\r\nx: " + b"y" * REQUEST_BYTES_MAX)
            client.sendall(b"y" * REQUEST_BYTES_MAX)
            answer = b""
            while piece := client.recv(65536):
                answer += piece
        assert b" 431 " in answer


# Slow clients


def test_connections_that_say_nothing_keep_nobody_out(server: HealthServer) -> None:
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connect(server)) for _ in range(5 * CONNECTIONS_MAX)]
        for client in idle[::3]:
            client.sendall(b"GET /live HT")
        assert get(server) == (200, {"asked": "/live"})
        assert all(hung_up(client) for client in idle[: len(idle) - CONNECTIONS_MAX])
        until(lambda: threads() <= CONNECTIONS_MAX)
        assert get(server)[0] == 200


def test_a_probe_is_answered_while_the_threads_of_others_are_slow_to_end(
    server: HealthServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a busy machine: that they were hung up on does not mean that they have had their turn."""
    finish = health_server._Request.finish

    def slowly(self: health_server._Request) -> None:
        time.sleep(0.2)
        finish(self)

    monkeypatch.setattr(health_server._Request, "finish", slowly)
    with contextlib.ExitStack() as stack:
        for _ in range(5 * CONNECTIONS_MAX):
            stack.enter_context(connect(server))
        assert get(server) == (200, {"asked": "/live"})


def test_a_client_that_takes_too_long_is_left_however_often_it_says_something(
    server: HealthServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health_server, "REQUEST_SECONDS_MAX", 0.05)
    monkeypatch.setattr(health_server, "SWEEP_SECONDS", 0.01)
    with connect(server) as slow:
        try:
            for _ in range(10_000):
                slow.sendall(b"x")
                time.sleep(0.005)
        except ConnectionError:
            pass
        assert hung_up(slow)
    until(lambda: threads() == 0)
    assert get(server)[0] == 200


def test_threads_are_bounded_while_answers_take_long() -> None:
    free, asked = threading.Event(), threading.Semaphore(0)

    def slowly(target: str) -> HealthAnswer:
        asked.release()
        free.wait(PATIENCE_SECONDS)
        return HealthAnswer(HTTPStatus.OK, {})

    server = HealthServer("127.0.0.1:0", slowly)
    server.start()
    try:
        with contextlib.ExitStack() as stack:
            for _ in range(THREADS_MAX):
                stack.enter_context(connect(server)).sendall(b"GET /health HTTP/1.0\r\n\r\n")
                assert asked.acquire(timeout=PATIENCE_SECONDS)
            turned_away = stack.enter_context(connect(server))
            assert hung_up(turned_away)
            assert threads() == THREADS_MAX
            free.set()
            until(lambda: threads() == 0)
        assert get(server)[0] == 200
    finally:
        server.close()


def test_a_client_that_hangs_up_before_its_answer_is_no_error(
    server: HealthServer, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(20):
        with connect(server) as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
            client.sendall(b"GET /live HTTP/1.0\r\n\r\n")
    assert get(server)[0] == 200
    assert [record for record in caplog.records if record.levelname not in ("DEBUG", "INFO")] == []


def test_an_accept_that_fails_is_tried_again_without_haste(
    server: HealthServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    accept = socket.socket.accept
    left = iter([1, 2, 3])

    def out_of_files(self: socket.socket) -> Any:
        if next(left, None) is not None:
            raise OSError(errno.EMFILE, "too many open files")
        return accept(self)

    monkeypatch.setattr(socket.socket, "accept", out_of_files)
    monkeypatch.setattr(health_server, "sleep", pauses.append)
    assert get(server)[0] == 200
    assert pauses == [health_server.PAUSE_SECONDS] * 3


# Its life


def test_the_address_is_the_real_one(server: HealthServer) -> None:
    host, port = server.address
    assert (host, port > 0, server.place) == ("127.0.0.1", True, f"127.0.0.1:{port}")


def test_after_the_close_nobody_listens(server: HealthServer) -> None:
    with connect(server) as open_one:
        get(server)
        server.close()
        assert hung_up(open_one)
    with pytest.raises(OSError, match="refused"):
        connect(server)
    assert not [one for one in threading.enumerate() if one.name == "penstock-health"]
    server.close()


def test_the_port_is_free_again_at_once(server: HealthServer) -> None:
    get(server)
    server.close()
    again = HealthServer(server.place, echo)
    again.start()
    try:
        assert get(again)[0] == 200
    finally:
        again.close()


def test_one_that_never_started_can_be_closed() -> None:
    HealthServer("127.0.0.1:0", echo).close()


def test_a_port_that_is_taken_is_an_error_that_names_the_fix(server: HealthServer) -> None:
    with pytest.raises(ConfigError, match=r"another program listens on this port.*port 0.*--health"):
        HealthServer(server.place, echo)
    assert get(server)[0] == 200


def test_an_address_that_is_not_ours_is_an_error_that_names_the_fix() -> None:
    with pytest.raises(ConfigError, match=r"cannot listen there .*name an address of this machine"):
        HealthServer("203.0.113.7:80", echo)


def test_a_name_that_nobody_knows_is_an_error_that_names_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*args: Any, **options: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ConfigError, match=r"cannot listen there \(Name or service not known\)"):
        HealthServer("nowhere.example:80", echo)


def test_names_and_all_interfaces() -> None:
    for place in ("localhost:0", "0.0.0.0:0"):
        server = HealthServer(place, echo)
        server.start()
        try:
            with socket.create_connection(("localhost", server.address[1]), PATIENCE_SECONDS) as client:
                client.sendall(b"GET /live HTTP/1.0\r\n\r\n")
                assert client.recv(15) == b"HTTP/1.0 200 OK"
        finally:
            server.close()
