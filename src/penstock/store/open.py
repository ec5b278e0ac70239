"""Which engine an address means. The only place outside of the engines that knows them."""

from __future__ import annotations

import re
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
    path, synchronous = check_address(address)
    from penstock.store.sqlite.store import SqliteStore

    options: dict[str, Any] = {"clock": clock, "create": create, "synchronous": synchronous}
    if random is not None:
        options["random"] = random
    return SqliteStore(path, **options)


def check_address(address: str) -> tuple[str, str]:
    """The path and the durability that an address means. Nothing is looked up: the file need not exist."""
    shown = masked(address)
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise ConfigError(f"store {shown!r} is not an address ({error}): {EXAMPLES}") from None
    if parts.scheme != "sqlite":
        raise ConfigError(f"store {shown!r} is not understood: {EXAMPLES}")
    if parts.netloc:
        raise ConfigError(f"store {shown!r} has two slashes too few: {EXAMPLES}")
    path = unquote(parts.path)[1:]
    if not path or path == ":memory:":
        raise ConfigError(f"store {shown!r} names no file; jobs must survive the process: {EXAMPLES}")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    synchronous = given.pop("synchronous", "full").lower()
    if given or synchronous not in ("full", "normal"):
        raise ConfigError(f"store {shown!r} has an option that is not known: only ?synchronous=full or normal")
    return path, synchronous


def masked(address: str) -> str:
    """The address without its password."""
    address = re.sub(r"(://[^:/@]*):.*@", r"\1:***@", address)
    return re.sub(r"([?&]password=)[^&]*", r"\1***", address, flags=re.IGNORECASE)
