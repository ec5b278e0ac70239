"""The outbound door: sends a request to a URL, if that leads to where requests may go. There is no other way out.

A name is resolved once. What is judged is each address that it has, and what is connected to is one of those, so that
neither an odd spelling nor a second answer of a name server leads elsewhere. Without `allow_private` all of them have
to be public: so it is for URLs that tenants give. What an operator has written into the config may be inside.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from importlib.metadata import version
from ssl import SSLCertVerificationError

from penstock.domain.clock import Clock
from penstock.domain.errors import OutboundFailed, OutboundRefused
from penstock.outbound.addresses import why_not_public
from penstock.outbound.connection import connect, trust
from penstock.outbound.deadline import Deadline
from penstock.outbound.exchange import TooLong, receive, send, written
from penstock.outbound.lookup import Found, Lookup, Resolve
from penstock.outbound.target import Target, check_port, parse
from penstock.system.clock import SystemClock

TIMEOUT_SECONDS = 10.0
REASON_CHARS_MAX = 200


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """What was answered, whatever the status. `body_start` and `headers` are somebody else's words: trust neither."""

    target: Target
    status: int
    headers: Mapping[str, str]
    body_start: bytes
    seconds: float

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def expect_success(self, hint: str = "") -> None:
        """All but a 2xx is a failure, a redirect too: what it leads to was not asked for."""
        if self.ok:
            return
        words = "redirects, which is not followed: give the URL that it leads to" if self.status // 100 == 3 else hint
        raise OutboundFailed(f"{self.target} answered {self.status}{words and ': '}{words}", self.status, self.headers)

    def __repr__(self) -> str:
        return f"<{self.status} of {self.target}>"


class Door:
    """Safe in threads. Nothing stays open between two requests, and proxies of the environment are not used.

    `authorities` is a file in PEM with certificates of authorities that are believed beside those of the machine.
    """

    def __init__(
        self,
        *,
        allow_private: bool = False,
        resolve: Resolve = socket.getaddrinfo,
        authorities: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._allow_private = allow_private
        self._lookup = Lookup(resolve)
        self._trusted = trust(authorities)
        self._clock = clock or SystemClock()
        self._headers = {"User-Agent": f"penstock/{version('penstock')}", "Accept": "*/*"}

    def post(self, url: str, body: bytes, headers: Mapping[str, str], *, timeout: float = TIMEOUT_SECONDS) -> Answer:
        """Send it and wait for the answer, for `timeout` seconds in all."""
        began = self._clock.monotonic()
        deadline = Deadline(self._clock, timeout)
        target = self.check(url)
        request = written(target, body, self._with_ours(headers))
        with _telling(target, timeout, "its name could not be looked up"):
            found = self._lookup.find(target, deadline)
        self._judge(target, found)
        with _telling(target, timeout, "it could not be connected to"):
            connection = connect(target, found, self._trusted, deadline)
        with connection:
            with _telling(target, timeout, "the request could not be sent"):
                send(connection, request, deadline)
            with _telling(target, timeout, "the answer could not be read"):
                status, answered, start = receive(connection, deadline)
        return Answer(target, status, answered, start, self._clock.monotonic() - began)

    def check(self, url: str) -> Target:
        """The URL, taken apart, if it is one that a request may go to, as far as it can be told without its address."""
        target = parse(url)
        if not self._allow_private:
            check_port(target)
        return target

    def _with_ours(self, headers: Mapping[str, str]) -> dict[str, str]:
        given = {name.lower() for name in headers}
        return {**{name: value for name, value in self._headers.items() if name.lower() not in given}, **headers}

    def _judge(self, target: Target, found: Sequence[Found]) -> None:
        """One address that is inside is enough to refuse: which of them is connected to is chance."""
        kind = next((kind for one in found if (kind := why_not_public(one.address))), None)
        if kind is not None and not self._allow_private:
            raise OutboundRefused(
                f"{target} has {kind} address, and requests go to public ones only: give the URL of a public server. "
                "What the config of penstock names may be anywhere"
            )


@contextmanager
def _telling(target: Target, timeout: float, what: str) -> Iterator[None]:
    """Errors as what they mean. Only those of sockets are told with their reasons, and as causes: those of HTTP quote
    what was answered, which may be the request itself.
    """
    try:
        yield
    except SSLCertVerificationError as error:
        raise OutboundFailed(
            f"{target}: its certificate is not accepted ({error.verify_message.rstrip('.')}): let it have one for this "
            "name from an authority that this machine knows"
        ) from error
    except TimeoutError as error:
        raise OutboundFailed(
            f"{target}: {what} within {timeout:g} s: see whether it is up and can be reached from here"
        ) from error
    except OSError as error:
        reason = str(error.strerror or error or type(error).__name__)[:REASON_CHARS_MAX]
        raise OutboundFailed(f"{target}: {what} ({reason}): see whether it is up and the URL is right") from error
    except (HTTPException, ValueError) as error:
        reason = "it is too long" if isinstance(error, TooLong) else "it is no HTTP"
        raise OutboundFailed(f"{target}: {what} ({reason}): see whether the URL is right") from None
