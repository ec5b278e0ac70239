"""Which engine an address means. The only place outside of the engines that knows them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from penstock.domain.clock import Clock
from penstock.domain.errors import ConfigError
from penstock.domain.texts import ADDRESS_CHARS, UNSTORABLE, brief, is_storable
from penstock.store.contract import SqlStore
from penstock.store.mask import masked

if TYPE_CHECKING:
    from penstock.store.postgres.connection.address import PostgresAddress as PostgresAddress

EXAMPLES = (
    "write it like sqlite:///jobs.db (relative), sqlite:////var/lib/app/jobs.db (absolute) "
    "or postgresql://user@host/database"
)

_POSTGRES = re.compile(r"postgres(ql)?(\+\w*)?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SqliteAddress:
    """The file that an address means, and the durability. `shown` is the address: there is no secret in it."""

    shown: str
    path: str
    synchronous: Literal["full", "normal"]


def open_store(
    address: str, *, clock: Clock | None = None, random: Callable[[], float] | None = None, create: bool = True
) -> SqlStore:
    """The store at this address. Nothing is opened before its first use."""
    parsed = parse_address(address)
    options: dict[str, Any] = {"clock": clock, "create": create}
    if random is not None:
        options["random"] = random
    if isinstance(parsed, SqliteAddress):
        from penstock.store.sqlite.store import SqliteStore

        return SqliteStore(parsed.path, synchronous=parsed.synchronous, **options)
    postgres_driver()
    from penstock.store.postgres.store import PostgresStore

    return PostgresStore(parsed, **options)


def parse_address(address: str) -> SqliteAddress | PostgresAddress:
    """What an address means. Nothing is looked up: neither the file nor the server need exist."""
    if _POSTGRES.match(address):
        from penstock.store.postgres.connection.address import parse

        return parse(address)
    return _sqlite(address)


def _sqlite(address: str) -> SqliteAddress:
    shown = masked(address)
    try:
        parts = urlsplit(address)
    except ValueError:  # What it says may quote the password.
        raise ConfigError(f"store {brief(shown, ADDRESS_CHARS)} is not an address: {EXAMPLES}") from None
    if parts.scheme != "sqlite":
        raise ConfigError(f"store {brief(shown, ADDRESS_CHARS)} is not understood: {EXAMPLES}")
    if parts.netloc:
        raise ConfigError(f"store {brief(shown, ADDRESS_CHARS)} has two slashes too few: {EXAMPLES}")
    path = unquote(parts.path)[1:]
    if not path or path == ":memory:":
        raise ConfigError(
            f"store {brief(shown, ADDRESS_CHARS)} names no file; jobs must survive the process: {EXAMPLES}"
        )
    if not is_storable(path):
        raise ConfigError(f"store {brief(shown, ADDRESS_CHARS)} is not possible: the path of a file has {UNSTORABLE}")
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    kinds: dict[str, Literal["full", "normal"]] = {"full": "full", "normal": "normal"}
    synchronous = kinds.get(given.pop("synchronous", "full").lower())
    if given or synchronous is None:
        raise ConfigError(
            f"store {brief(shown, ADDRESS_CHARS)} has an option that is not known: only ?synchronous=full or normal"
        )
    return SqliteAddress(shown, path, synchronous)


def postgres_driver() -> Any:
    """The driver of PostgreSQL stores, or an error that says how to get it."""
    from penstock.store.postgres.connection.address import require_driver

    return require_driver()


def grants(address: str, role: str) -> str:
    """The statements that give a role of the server what workers and clients need of this store, and no more."""
    parsed = parse_address(address)
    if isinstance(parsed, SqliteAddress):
        raise ConfigError(
            f"store {parsed.shown!r} is a file, and SQLite has no roles: give the user of the process the right to "
            "write the file and its folder"
        )
    from penstock.store.postgres.admin.grants import grants_sql

    return grants_sql(parsed.schema, role)
