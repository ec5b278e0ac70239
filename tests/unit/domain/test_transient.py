"""What passes by itself: real errors of libraries that are here, and stand-ins with the names of those that are not."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import http.client
import smtplib
import socket
import ssl
import urllib.error
from typing import Any

import asyncpg
import psycopg
import psycopg2
import psycopg2.extensions
import pytest
import sqlalchemy.exc

from penstock.domain.errors import CommitUncertain, PayloadError, StoreBusy, StoreFull, StoreUnavailable
from penstock.domain.failure.transient import is_transient
from tests.unit.domain.http_shapes import FlatHttpError, HostileError, HttpError


def named(package: str, *names: str, base: type[Exception] = Exception) -> Exception:
    """An error of a package that is not installed here: its class, and those that it is derived from, by name."""
    kind = base
    for name in reversed(names):
        kind = type(name, (kind,), {"__module__": f"{package}.exceptions"})
    return kind()


def wrapped(cause: BaseException) -> Exception:
    error = RuntimeError("the sync failed")
    error.__cause__ = cause
    return error


# The standard library


@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(), concurrent.futures.TimeoutError(), ConnectionResetError(), ConnectionRefusedError(),
        ConnectionAbortedError(), BrokenPipeError(),
        socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"),
        OSError(errno.ENETUNREACH, "Network is unreachable"), OSError(errno.EHOSTUNREACH, "No route to host"),
        OSError(errno.ETIMEDOUT, "timed out"), http.client.RemoteDisconnected(""), http.client.IncompleteRead(b""),
        http.client.BadStatusLine(""), asyncio.IncompleteReadError(b"", 5), urllib.error.URLError(TimeoutError()),
        smtplib.SMTPServerDisconnected("gone"), ssl.SSLEOFError(8, "EOF"), ssl.SSLZeroReturnError(6, "closed"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_network_errors_and_timeouts_pass(error: Exception) -> None:
    assert is_transient(error)
    assert is_transient(wrapped(error))


@pytest.mark.parametrize(
    "error",
    [
        ValueError(), KeyError(), FileNotFoundError(errno.ENOENT, "no"), PermissionError(errno.EACCES, "no"), OSError(),
        OSError(errno.ENOSPC, "No space left on device"), IsADirectoryError(), urllib.error.URLError("unknown type"),
        urllib.error.URLError(FileNotFoundError()), ssl.SSLCertVerificationError("expired"),
        urllib.error.URLError(ssl.SSLCertVerificationError("expired")), PayloadError("x"), StoreFull("x"),
        smtplib.SMTPRecipientsRefused({}), MemoryError(), RecursionError(),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_others_stay(error: Exception) -> None:
    assert not is_transient(error)


@pytest.mark.parametrize("error", [StoreUnavailable("x"), StoreBusy("x"), CommitUncertain("x")])
def test_a_store_that_is_away_comes_back(error: Exception) -> None:
    assert is_transient(error)


# HTTP


@pytest.mark.parametrize(
    ("status", "passes"),
    [(400, False), (401, False), (404, False), (408, True), (425, True), (429, True), (499, False), (500, True),
     (502, True), (503, True), (504, True), (599, True)],
)  # fmt: skip
def test_statuses(status: int, passes: bool) -> None:
    for error in (HttpError(status), FlatHttpError(status), wrapped(HttpError(status))):
        assert is_transient(error) is passes


def test_a_code_that_tells_of_no_error_leaves_it_to_the_kind() -> None:
    error = ConnectionError()
    error.code = 112  # type: ignore[attr-defined]
    assert is_transient(error)


# Libraries that are here


@pytest.mark.parametrize(
    "error",
    [
        psycopg.OperationalError("server closed the connection"), psycopg.errors.AdminShutdown(),
        psycopg.errors.SerializationFailure(), psycopg.errors.DeadlockDetected(), psycopg.errors.ConnectionTimeout(),
        psycopg2.OperationalError("gone"), psycopg2.extensions.TransactionRollbackError(),
        asyncpg.ConnectionDoesNotExistError("gone"), asyncpg.CannotConnectNowError("starting"),
        asyncpg.TooManyConnectionsError("full"), asyncpg.DeadlockDetectedError("x"), asyncpg.AdminShutdownError("x"),
        sqlalchemy.exc.TimeoutError("pool"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_databases_that_are_away_or_busy(error: Exception) -> None:
    assert is_transient(error)


@pytest.mark.parametrize(
    "error",
    [psycopg.errors.UniqueViolation(), psycopg.ProgrammingError("no such table"), psycopg2.IntegrityError(),
     asyncpg.UndefinedTableError("x"), asyncpg.UniqueViolationError("x")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_databases_that_say_no(error: Exception) -> None:
    assert not is_transient(error)


def test_sqlalchemy_is_as_transient_as_what_its_driver_said() -> None:
    def told(origin: Exception) -> bool:
        error = sqlalchemy.exc.OperationalError("SELECT 1", None, origin)
        error.__cause__ = origin
        return is_transient(error)

    assert told(psycopg.OperationalError("gone"))
    assert not told(psycopg.ProgrammingError("no such table"))


# Libraries that are not


@pytest.mark.parametrize(
    ("package", "names"),
    [
        ("httpx", ("ConnectTimeout", "TimeoutException", "TransportError")),
        ("httpx", ("ReadError", "NetworkError", "TransportError")),
        ("httpx", ("RemoteProtocolError", "ProtocolError", "TransportError")),
        ("httpcore", ("ConnectError", "NetworkError")),
        ("aiohttp", ("ServerDisconnectedError", "ServerConnectionError", "ClientConnectionError", "ClientError")),
        ("aiohttp", ("ClientPayloadError", "ClientError")),
        ("requests", ("ConnectTimeout", "ConnectionError", "RequestException")),
        ("requests", ("ReadTimeout", "Timeout", "RequestException")),
        ("requests", ("ChunkedEncodingError", "RequestException")),
        ("urllib3", ("ReadTimeoutError", "TimeoutError", "HTTPError")),
        ("urllib3", ("NewConnectionError", "ConnectTimeoutError", "TimeoutError", "HTTPError")),
        ("urllib3", ("MaxRetryError", "RequestError", "HTTPError")),
        ("botocore", ("EndpointConnectionError", "ConnectionError", "HTTPClientError", "BotoCoreError")),
        ("redis", ("BusyLoadingError", "ConnectionError", "RedisError")),
        ("redis", ("TimeoutError", "RedisError")),
        ("pymongo", ("AutoReconnect", "ConnectionFailure", "PyMongoError")),
    ],
)
def test_errors_of_clients_are_known_by_their_names(package: str, names: tuple[str, ...]) -> None:
    assert is_transient(named(package, *names))
    assert not is_transient(named("nobody", *names)), "the same names, of a package that nobody knows"


@pytest.mark.parametrize(
    ("package", "names"),
    [
        ("httpx", ("UnsupportedProtocol", "TransportError")),
        ("httpx", ("LocalProtocolError", "ProtocolError", "TransportError")),
        ("httpx", ("InvalidURL",)),
        ("aiohttp", ("ClientConnectorCertificateError", "ClientConnectorError", "ClientConnectionError")),
        ("aiohttp", ("InvalidURL", "ClientError")),
        ("requests", ("SSLError", "ConnectionError", "RequestException")),
        ("requests", ("InvalidURL", "RequestException")),
        ("redis", ("AuthenticationError", "ConnectionError", "RedisError")),
        ("somewhere", ("ConnectionError",)),
        ("mycompany", ("TimeoutException", "NetworkError")),
    ],
)
def test_what_stays_until_somebody_mends_it_or_is_of_others(package: str, names: tuple[str, ...]) -> None:
    assert not is_transient(named(package, *names))


# Wrapped, grouped, hostile


def test_the_first_error_of_the_chain_that_can_be_told_decides() -> None:
    certificate = named("requests", "SSLError", "ConnectionError")
    certificate.__cause__ = TimeoutError()
    assert not is_transient(wrapped(certificate))
    assert is_transient(wrapped(wrapped(TimeoutError())))


def test_a_mistake_while_a_network_error_is_handled_is_a_mistake() -> None:
    error: BaseException | None = None
    try:
        try:
            raise ConnectionResetError
        except ConnectionResetError:
            int("missing")
    except ValueError as caught:
        error = caught
    assert error is not None
    assert not is_transient(error)


def test_of_a_group_each_part_has_to_pass() -> None:
    assert is_transient(ExceptionGroup("both", [TimeoutError(), wrapped(HttpError(503))]))
    assert not is_transient(ExceptionGroup("one", [TimeoutError(), ValueError()]))


class OddModule(Exception):
    __module__ = 5  # type: ignore[assignment]


@pytest.mark.parametrize("error", [HostileError(), OddModule(), wrapped(HostileError())], ids=range(3))
def test_whatever_an_error_does_it_is_judged(error: Any) -> None:
    assert is_transient(error) is False
