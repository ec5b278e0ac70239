"""What a URL may be to which a request is sent, and how it is told: by scheme and host, for all else may be secret."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv6Address
from urllib.parse import SplitResult, urlsplit

from penstock.domain.errors import OutboundRefused

URL_CHARS_MAX = 4_000
PORTS = {"http": 80, "https": 443}
FREE_PORTS_FROM = 1024
"""Below are those of other protocols, which must not be spoken to by what looks like a request."""

_PLAIN = re.compile(r"[!-\[\]-~]+")
"""What is printed in ASCII, without blanks and without the backslash, of which readers of URLs think differently."""
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.?")
_NAME_CHARS_MAX = 253
_IN_BRACKETS = re.compile(r"\[[^\]]+\](?::[0-9]*)?")


@dataclass(frozen=True, slots=True, repr=False)
class Target:
    """A URL, taken apart. `asked` is what stands after the host, which is sent and never told."""

    scheme: str
    host: str
    port: int
    asked: str

    @property
    def place(self) -> str:
        """The host as it is written in a URL, with the port where it is not that of the scheme."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def __repr__(self) -> str:
        return f"{self.scheme}://{self.place}"


def parse(url: str) -> Target:
    """The URL if it is one that can be sent to."""
    if len(url) > URL_CHARS_MAX or not _PLAIN.fullmatch(url):
        raise OutboundRefused(
            f"a URL to send to has at most {URL_CHARS_MAX} characters, printable ASCII without blanks and backslashes: "
            "write other characters of a path as %XX, and other names of hosts as xn--…"
        )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise _wrong("its host or its port, which is a number from 1 to 65535, cannot be read") from None
    if parts.scheme not in PORTS:
        raise _wrong("it has to begin with http:// or https://")
    if "@" in parts.netloc:
        raise _wrong("it must not hold a user or a password: send them in a header")
    if port == 0:
        raise _wrong("a port is a number from 1 to 65535")
    asked = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, _host(parts), port or PORTS[parts.scheme], asked)


def check_port(target: Target) -> None:
    """Whether it is one that strangers may have a request sent to."""
    if target.port not in PORTS.values() and target.port < FREE_PORTS_FROM:
        raise OutboundRefused(
            f"{target}: no request is sent to this port; use 80, 443, or one from {FREE_PORTS_FROM} on"
        )


def _host(parts: SplitResult) -> str:
    host = parts.hostname or ""
    if _IN_BRACKETS.fullmatch(parts.netloc):
        return _as_ipv6(host)
    if len(host) > _NAME_CHARS_MAX or not _NAME.fullmatch(host):
        raise _wrong("its host is neither a name nor an address")
    return host


def _as_ipv6(host: str) -> str:
    try:
        address = IPv6Address(host)
    except ValueError:
        raise _wrong("what is in brackets is no IPv6 address") from None
    if address.scope_id is not None:
        raise _wrong("an address must not name an interface of this machine")
    return str(address)


def _wrong(what: str) -> OutboundRefused:
    """Without a word of the URL: where it is wrong nobody can say which part of it is the secret."""
    return OutboundRefused(f"a URL to send to is wrong: {what}")
