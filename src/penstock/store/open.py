"""Which engine an address means. The only place outside of the engines that knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.domain.clock import Clock
from penstock.domain.errors import ConfigError
from penstock.store.contract import Store

EXAMPLES = "write it like sqlite:///jobs.db (relative) or sqlite:////var/lib/app/jobs.db (absolute)"


def open_store(
    address: str, *, clock: Clock | None = None, random: Callable[[], float] | None = None, create: bool = True
) -> Store:
    """The store at this address. Nothing is opened before its first use."""
    parts = urlsplit(address)
    if parts.scheme != "sqlite":
        raise ConfigError(f"store {_masked(address)!r} is not understood: {EXAMPLES}")
    if parts.netloc:
        raise ConfigError(f"store {address!r} has two slashes too few: {EXAMPLES}")
    path = unquote(parts.path)[1:]
    if not path or path == ":memory:":
        raise ConfigError(f"store {address!r} names no file; jobs must survive the process: {EXAMPLES}")
    from penstock.store.sqlite.store import SqliteStore

    options: dict[str, Any] = {"clock": clock, "create": create, "synchronous": _synchronous(address, parts.query)}
    if random is not None:
        options["random"] = random
    return SqliteStore(path, **options)


def _synchronous(address: str, query: str) -> str:
    given = dict(parse_qsl(query, keep_blank_values=True))
    value = given.pop("synchronous", "full").lower()
    if given or value not in ("full", "normal"):
        raise ConfigError(f"store {address!r} has an option that is not known: only ?synchronous=full or normal")
    return value


def _masked(address: str) -> str:
    """The address without its password."""
    parts = urlsplit(address)
    return address.replace(f":{parts.password}@", ":***@") if parts.password else address
