"""Whether an error is of the kind that passes by itself: the network, a timeout, a busy or broken server.

The libraries are not imported: an error is known by the names of its classes and of the package that they are from. So
an error of a package that is not listed here, and is no ConnectionError or TimeoutError either, is not marked. The mark
is for people and for filters; whether there is another attempt does not depend on it.
"""

from __future__ import annotations

import errno

from penstock.domain.errors import CommitUncertain, StoreBusy, StoreUnavailable
from penstock.domain.failure.causes import chain, parts
from penstock.domain.failure.http_errors import attribute, http_status

TRANSIENT_STATUS = frozenset({408, 425, 429})
KINDS = (ConnectionError, TimeoutError, StoreUnavailable, StoreBusy, CommitUncertain)
ERRNOS = frozenset({
    errno.ENETDOWN, errno.ENETUNREACH, errno.ENETRESET, errno.EHOSTDOWN, errno.EHOSTUNREACH, errno.ENOBUFS,
})  # fmt: skip

# package: classes, each with its subclasses
NAMES = {
    "socket": {"gaierror", "herror"},
    "http": {"IncompleteRead", "BadStatusLine"},
    "ssl": {"SSLEOFError", "SSLZeroReturnError"},
    "asyncio": {"IncompleteReadError"},
    "smtplib": {"SMTPServerDisconnected", "SMTPConnectError"},
    "httpx": {"TimeoutException", "NetworkError", "RemoteProtocolError", "ProxyError"},
    "httpcore": {"TimeoutException", "NetworkError", "RemoteProtocolError", "ProxyError"},
    "aiohttp": {"ClientConnectionError", "ClientPayloadError"},
    "requests": {"ConnectionError", "Timeout", "ChunkedEncodingError"},
    "urllib3": {"TimeoutError", "ProtocolError", "NewConnectionError", "NameResolutionError", "MaxRetryError",
                "ProxyError"},
    "botocore": {"HTTPClientError"},
    "websockets": {"ConnectionClosedError"},
    "psycopg": {"OperationalError"},
    "psycopg2": {"OperationalError"},
    "psycopg_pool": {"PoolTimeout"},
    "asyncpg": {"PostgresConnectionError", "InsufficientResourcesError", "OperatorInterventionError",
                "TransactionRollbackError", "LockNotAvailableError"},
    "pymysql": {"OperationalError"},
    "MySQLdb": {"OperationalError"},
    "sqlalchemy": {"TimeoutError"},
    "redis": {"ConnectionError", "TimeoutError"},
    "pymongo": {"ConnectionFailure"},
    "kafka": {"KafkaConnectionError", "KafkaTimeoutError"},
}  # fmt: skip
# What is called a connection error and stays until somebody mends it.
LASTING = {
    "ssl": {"SSLCertVerificationError"},
    "aiohttp": {"ClientConnectorCertificateError"},
    "requests": {"SSLError"},
    "botocore": {"SSLError"},
    "redis": {"AuthenticationError"},
}


def is_transient(error: BaseException) -> bool:
    """Whether all that went wrong may pass by itself.

    The first error of the chain of causes that can be told decides: `raise SyncFailed() from timeout` is as transient
    as the timeout. Of a group each part has to be.
    """
    try:
        return all(_passes(part) for part in parts(error))
    except Exception:  # The error's own code raised.
        return False


def _passes(error: BaseException) -> bool:
    return next((told for told in map(_told, chain(error)) if told is not None), False)


def _told(error: BaseException) -> bool | None:
    """What this error itself tells; None if nothing."""
    status = http_status(error)
    if status is not None and status >= 400:
        return status >= 500 or status in TRANSIENT_STATUS
    if _named(error, LASTING):
        return False
    if isinstance(error, KINDS) or _named(error, NAMES):
        return True
    return True if isinstance(error, OSError) and attribute(error, "errno") in ERRNOS else None


def _named(error: BaseException, names: dict[str, set[str]]) -> bool:
    return any(kind.__name__ in names.get(kind.__module__.partition(".")[0], ()) for kind in type(error).__mro__)
