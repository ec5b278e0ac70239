"""Addresses without their secrets, also misspelt ones: what messages, logs and `penstock config` may show of them."""

from __future__ import annotations

import re

from penstock.domain.failure.secrets import HIDDEN, is_secret_name

HARMLESS = frozenset({
    "schema", "notify", "prepare", "pool", "timeout", "synchronous",
    "service", "user", "passfile", "channel_binding", "connect_timeout", "dbname", "host", "hostaddr", "port",
    "client_encoding", "application_name", "fallback_application_name", "keepalives", "keepalives_idle",
    "keepalives_interval", "keepalives_count", "tcp_user_timeout", "ssl", "sslmode", "sslnegotiation", "sslcompression",
    "sslcert", "sslkey", "sslcertmode", "sslrootcert", "sslcrl", "sslcrldir", "sslsni", "requirepeer", "require_auth",
    "min_protocol_version", "max_protocol_version", "ssl_min_protocol_version", "ssl_max_protocol_version",
    "gssencmode", "krbsrvname", "gsslib", "gssdelegation", "replication", "target_session_attrs", "load_balance_hosts",
    "oauth_issuer", "oauth_client_id", "oauth_scope", "sslkeylogfile",
})  # fmt: skip
"""The options of an address whose values are shown. Any other may hold a password, also one whose name is misspelt."""

_SCHEME = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*(?::/{1,3}|/{2,3})|/{2,3})")
_NAME = re.compile(r"[^:/@\s,;=?#&|]*")
_HOST = re.compile(r"\[[^\[\]]*\]")
_PORT = re.compile(r"[0-9]{0,5}")
_AFTER_COLON = re.compile(r":([^,/?]*)")
_OPTION = re.compile(r"(?:^|(?<=[?;\s]))([^?;=\s@]+)\s*=\s*")
_BARE = re.compile(r"(?:^|(?<=[?&]))[^=?&]+(?=&|\Z)")
_RIGHT = re.compile(r"[a-z_]+=[^=?]*")


def masked(address: str) -> str:
    """The address without its secrets. Of one that does not parse, all is hidden that stands where one could be."""
    scheme = _SCHEME.match(address)
    start = scheme.end() if scheme else 0
    if scheme and scheme[0].strip().lower() == "sqlite:///":
        return _hide_options(address, file=True)  # A file: there is no user in it.
    at = _end_of_user(address, start)
    if at < 0:
        return _hide_options(address[:start] + _hide_no_port(address[start:], bool(scheme)))
    name = _NAME.match(address, start, at)
    shown = address[: name.end() if name else start]
    if len(shown) < at:
        shown += f":{HIDDEN}"
    return shown + _hide_options(_hide_no_port(address[at:], True))


def _end_of_user(address: str, start: int) -> int:
    """Where the last @ is that can end a user and password. One in the value of a right option is none."""
    front, mark, options = address.partition("?")
    if mark and "@" in front[start:] and all(map(_RIGHT.fullmatch, options.split("&"))):
        return front.rfind("@")
    return address.rfind("@", start)


def _hide_no_port(place: str, certain: bool) -> str:
    """Hosts and what follows. What comes after a colon and is no port could be a password; it ends where nobody knows.

    Without a scheme it may also be a path.
    """
    bare = _HOST.sub(lambda found: "x" * len(found[0]), place)
    for found in _AFTER_COLON.finditer(bare):
        if not certain and (found[1].startswith("\\") or bare.lower().startswith(("sqlite", "/", "."))):
            break
        if not _PORT.fullmatch(found[1]) or int(found[1] or 0) > 65535:
            return f"{place[: found.start()]}:{HIDDEN}"
        if bare[found.end() : found.end() + 1] in ("/", "?", ""):
            break
    return place


def _hide_options(address: str, file: bool = False) -> str:
    """The values of all options but the harmless ones. What follows such a value and is no option is a part of it."""
    end_of_path = address.find("?") if "?" in address else len(address)
    pieces, begin = address.split("&"), 0
    for number, piece in enumerate(pieces):
        for found in _OPTION.finditer(piece):
            in_path = begin + found.start() < end_of_path and (
                file or ("/" in found[1] and begin == found.start() == 0)
            )
            if not (is_secret_name(found[1]) if in_path else found[1] not in HARMLESS):
                continue
            pieces[number] = f"{piece[: found.end()]}{HIDDEN}"
            if any(not _RIGHT.fullmatch(later) for later in pieces[number + 1 :]):
                return "&".join(pieces[: number + 1])
            break
        begin += len(piece) + 1
    path, mark, query = "&".join(pieces).partition("?")
    return path + mark + _BARE.sub(lambda found: found[0] if found[0] in HARMLESS else HIDDEN, query)
