"""A request goes out once, as it was given, to where it may go; its answer is told, and errors tell no secrets."""

from __future__ import annotations

import socket
import traceback
from collections.abc import Iterator
from importlib.metadata import version

import pytest

from penstock.domain.errors import OutboundError, OutboundFailed, OutboundRefused
from penstock.domain.failure.transient import is_transient
from penstock.outbound.door import Answer, Door
from penstock.outbound.target import parse
from tests.outbound.receiver import Names, Receiver, answer, receiver, rows, sent_body, sent_headers

SECRET = "T0S3CRET"
PATH = f"/services/{SECRET}/B0?token={SECRET}"


@pytest.fixture
def door() -> Door:
    return Door(allow_private=True)


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as server:
        yield server


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch, server: Receiver) -> list[tuple[str, int]]:
    """Where connections were made to; the whole Internet is this one server."""
    found: list[tuple[str, int]] = []
    connect = socket.socket.connect

    def dial(own: socket.socket, address: tuple[str, int]) -> None:
        found.append(address[:2])
        connect(own, ("127.0.0.1", server.port))

    monkeypatch.setattr(socket.socket, "connect", dial)
    return found


# What goes out


def test_a_request_arrives_as_it_was_given(door: Door, server: Receiver) -> None:
    got = door.post(f"{server.url}{PATH}#part", b'{"a": "\xc3\xa4"}', {"Content-Type": "application/json", "X-Id": "1"})
    assert (got.status, got.ok, got.body_start, got.headers["content-length"]) == (200, True, b"ok", "2")
    assert got.seconds >= 0
    (request,) = server.requests
    assert request.startswith(f"POST {PATH} HTTP/1.1\r\n".encode())
    assert sent_body(request) == b'{"a": "\xc3\xa4"}'
    assert sent_headers(request) == {
        "host": f"127.0.0.1:{server.port}", "content-length": "11", "connection": "close", "accept": "*/*",
        "user-agent": f"penstock/{version('penstock')}", "content-type": "application/json", "x-id": "1",
    }  # fmt: skip


def test_a_header_of_the_callers_takes_the_place_of_a_default(door: Door, server: Receiver) -> None:
    door.post(server.url, b"", {"user-agent": "mine"})
    assert server.requests[0].lower().count(b"user-agent") == 1
    assert sent_headers(server.requests[0])["user-agent"] == "mine"


def test_a_proxy_of_the_environment_is_not_used(door: Door, server: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert door.post(server.url, b"", {}).ok
        assert (proxy.connections, server.connections) == (0, 1)


def test_a_large_body_arrives_whole(door: Door, server: Receiver) -> None:
    body = bytes(range(256)) * 8192
    assert door.post(server.url, body, {}).ok
    assert sent_body(server.requests[0]) == body


# Where it goes


def test_a_name_is_resolved_once_and_a_second_answer_is_never_used(
    server: Receiver, dialled: list[tuple[str, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that is public when it is judged and inside afterwards: what was judged is what is connected to."""
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: pytest.fail("resolved behind the door's back"))
    names = Names(rows("93.184.215.14"), rows("127.0.0.1"))
    door = Door(resolve=names)
    assert door.post("http://rebinding.example:8080/", b"", {}).ok
    assert names.asked == ["rebinding.example"]
    assert dialled == [("93.184.215.14", 8080)]
    assert sent_headers(server.requests[0])["host"] == "rebinding.example:8080"
    with pytest.raises(OutboundRefused, match="a loopback address"):
        door.post("http://rebinding.example:8080/", b"", {})
    assert len(dialled) == 1


def test_the_port_is_that_of_the_url_whatever_the_resolver_says(dialled: list[tuple[str, int]]) -> None:
    assert Door(resolve=Names(rows("93.184.215.14"))).post("http://h.example/", b"", {}).ok
    assert dialled == [("93.184.215.14", 80)]


def test_a_name_in_the_place_of_an_address_is_not_connected_to(dialled: list[tuple[str, int]]) -> None:
    with pytest.raises(OutboundFailed):
        Door(allow_private=True, resolve=Names(rows("localhost"))).post("http://h.example/", b"", {})
    assert dialled == []


def test_the_next_address_is_tried_if_the_first_takes_no_connection(door: Door, server: Receiver) -> None:
    names = Names(rows("127.0.0.2", "127.0.0.1"))  # The server listens at the second alone.
    assert Door(allow_private=True, resolve=names).post(f"http://h.example:{server.port}/", b"", {}).ok


def test_what_is_inside_passes_only_where_it_is_allowed(server: Receiver) -> None:
    with pytest.raises(OutboundRefused, match="has a loopback address, and requests go to public ones only"):
        Door().post(server.url, b"", {})
    with pytest.raises(OutboundRefused, match="no request is sent to this port"):
        Door().post("http://example.com:25/", b"", {})
    assert server.connections == 0
    assert Door(allow_private=True).check("http://example.com:25/").port == 25


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_is_a_failure(door: Door, server: Receiver, status: int) -> None:
    with receiver(answer(status, Location=f"{server.url}{PATH}")) as leading:
        got = door.post(leading.url, b"", {})
        assert (got.status, got.ok, server.connections) == (status, False, 0)
        with pytest.raises(OutboundFailed, match=f"answered {status}: redirects, which is not followed") as caught:
            got.expect_success()
        assert SECRET not in str(caught.value)
        assert not is_transient(caught.value)


# Headers


@pytest.mark.parametrize(
    "headers",
    [
        {"X-A": "1\r\nX-Evil: s3cret"}, {"X-A": "1\ns3cret"}, {"X-A": "1\rs3cret"}, {"X-A": "1\0s3cret"},
        {"X-A": "s3cret\x7f"}, {"X-A": "s3cret\u010a"}, {"X-A": "s3cret" * 2000}, {"X-A\r\nX-B": "s3cret"},
        {"X A": "s3cret"}, {"X:A": "s3cret"}, {"": "s3cret"}, {"Ä": "s3cret"}, {"Host": "s3cret"},
        {"content-length": "0"}, {"Transfer-Encoding": "chunked"}, {"Connection": "keep-alive"},
        {"X-A": "s3cret", "x-a": "s3cret"},
    ],
    ids=str,
)  # fmt: skip
def test_a_header_that_would_say_something_else_is_refused(
    door: Door, server: Receiver, headers: dict[str, str]
) -> None:
    with pytest.raises(OutboundRefused, match="header") as caught:
        door.post(server.url, b"", headers)
    assert "s3cret" not in str(caught.value)
    assert server.connections == 0


# Answers


@pytest.mark.parametrize(
    ("status", "passes"), [(400, False), (404, False), (408, True), (425, True), (429, True), (500, True), (503, True)]
)
def test_a_status_that_is_a_failure_is_told_and_says_whether_it_may_pass(door: Door, status: int, passes: bool) -> None:
    with receiver(answer(status, Retry_After="7")) as server:
        got = door.post(server.url, b"", {})
    with pytest.raises(OutboundFailed, match=f"answered {status}$") as caught:
        got.expect_success()
    assert (caught.value.status, caught.value.headers["retry-after"]) == (status, "7")
    assert is_transient(caught.value) is passes


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_others_are_a_success(status: int) -> None:
    Answer(parse("https://h/"), status, {}, b"", 0.1).expect_success()


@pytest.mark.parametrize(
    "said",
    [b"HTTP/1.0 200 OK\r\n\r\nhello", b"HTTP/1.1 200 OK\r\n\r\nhello",
     b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
     b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more",
     b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhello",
     b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nno number\r\n"],
)  # fmt: skip
def test_the_forms_of_an_answer(door: Door, said: bytes) -> None:
    with receiver(said) as server:
        got = door.post(server.url, b"", {})
    assert (got.status, got.body_start) == (200, b"hello")


# What went wrong


def test_nobody_listens(door: Door) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(OutboundFailed, match=r"could not be connected to \(Connection refused\)") as caught:
        door.post(f"http://127.0.0.1:{port}/", b"", {})
    assert is_transient(caught.value)


def test_a_name_that_is_unknown() -> None:
    def resolve(*_: object, type: int) -> list[tuple[object, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with pytest.raises(OutboundFailed, match=r"https://h\.example: its name could not be looked up") as caught:
        Door(resolve=resolve).post("https://h.example/", b"", {})
    assert is_transient(caught.value)


@pytest.mark.parametrize("found", [[], [*rows("no address")]], ids=["none", "no address"])
def test_a_name_without_an_address(found: list[tuple[object, ...]]) -> None:
    with pytest.raises(OutboundFailed):
        Door(resolve=Names(found)).post("https://h.example/", b"", {})


def test_a_server_that_hangs_up_may_be_tried_again(door: Door) -> None:
    with receiver(b"") as server, pytest.raises(OutboundFailed, match="answer could not be read") as caught:
        door.post(server.url, b"", {})
    assert is_transient(caught.value)


@pytest.mark.parametrize(
    "said", [b"SSH-2.0-OpenSSH\r\n", b"\0\xff\n" * 9, b"HTTP/1.1 abc\r\n\r\n", b"HTTP/9 200\r\n\r\n"]
)
def test_a_server_that_speaks_something_else(door: Door, said: bytes) -> None:
    with receiver(said) as server, pytest.raises(OutboundFailed, match="it is no HTTP") as caught:
        door.post(server.url, b"", {})
    assert not is_transient(caught.value)


def echo(connection: socket.socket) -> None:
    connection.sendall(f"POST {PATH} HTTP/1.1\r\n\r\n".encode())


@pytest.mark.parametrize(
    "said",
    [echo, answer(404, f"Cannot POST {PATH}".encode()), answer(302, Location=f"https://h{PATH}"), b"",
     answer(503, SECRET.encode(), X_Echo=PATH)],
    ids=["echo", "not found", "redirect", "hung up", "away"],
)  # fmt: skip
def test_no_error_tells_the_secret_part_of_a_url(door: Door, said: bytes) -> None:
    with receiver(said) as server, pytest.raises(OutboundFailed) as caught:
        door.post(f"{server.url}{PATH}", b"", {}).expect_success()
    check_nothing_told(caught.value)
    assert f"http://127.0.0.1:{server.port}" in str(caught.value)


@pytest.mark.parametrize(
    "url", [f"http://127.0.0.1:1{PATH}", f"http://{SECRET}@h/", f"http://h:{SECRET}/", f"http://h/ {SECRET}",
            f"http://h:25{PATH}", f"ftp://h{PATH}", f"http://[::1{PATH}"]
)  # fmt: skip
def test_nor_does_one_that_is_refused(url: str) -> None:
    with pytest.raises(OutboundRefused) as caught:
        Door(resolve=Names(rows("127.0.0.1"))).post(url, b"", {})
    check_nothing_told(caught.value)


def check_nothing_told(error: OutboundError) -> None:
    told = "".join(traceback.format_exception(error)) + repr(error) + repr(error.args)
    assert SECRET not in told


def test_nothing_that_may_be_logged_tells_it(door: Door) -> None:
    target = parse(f"https://h{PATH}")
    assert SECRET not in f"{target} {target!r} {Answer(target, 200, {'x': SECRET}, SECRET.encode(), 0.1)!r} {door!r}"
