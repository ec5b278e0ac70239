"""From addresses to a connection: the first that takes it, with TLS for the name that was asked for."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence

from penstock.domain.errors import ConfigError
from penstock.outbound.deadline import Deadline
from penstock.outbound.lookup import Found
from penstock.outbound.target import Target

TRIED_MAX = 8


def trust(authorities: str | None = None) -> ssl.SSLContext:
    """Whose certificates are believed: those that the machine believes, and of these authorities, a file in PEM."""
    context = ssl.create_default_context()
    if authorities is not None:
        try:
            context.load_verify_locations(authorities)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise ConfigError(
                f"the certificates in {authorities!r} cannot be used ({reason}): name a file in PEM"
            ) from None
    return context


def connect(target: Target, found: Sequence[Found], trusted: ssl.SSLContext, deadline: Deadline) -> socket.socket:
    """Connected to one of these addresses and to nothing else. Errors are OSError."""
    connection = _reach(found[:TRIED_MAX], deadline)
    if target.scheme == "http":
        return connection
    with connection:  # What it becomes is another one.
        connection.settimeout(deadline.left())
        return trusted.wrap_socket(connection, server_hostname=target.host.rstrip("."))


def _reach(found: Sequence[Found], deadline: Deadline) -> socket.socket:
    """Each gets its part of the time, so that one that swallows everything leaves some for the next."""
    failed = OSError("the name has no address")
    for tried, one in enumerate(found):
        connection = socket.socket(one.family, socket.SOCK_STREAM)
        try:
            connection.settimeout(deadline.left() / (len(found) - tried))
            connection.connect(one.numbers)
        except BaseException as error:
            connection.close()
            if not isinstance(error, OSError):
                raise
            failed = error
        else:
            return connection
    raise failed
