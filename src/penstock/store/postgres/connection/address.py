"""What a PostgreSQL address says: where the server is, in libpq's own words, and how penstock is to use it.

Nothing is looked up or connected to. The driver is only asked which options libpq knows, and only if one is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NoReturn
from urllib.parse import unquote

from penstock.domain.duration import format_duration, parse_duration
from penstock.domain.errors import ConfigError
from penstock.domain.texts import ADDRESS_CHARS, brief
from penstock.store.mask import HARMLESS, masked
from penstock.store.postgres.connection.statements import DEFAULT_SCHEMA, SCHEMA_CHARS_MAX, quoted

INSTALL = "pip install 'penstock[postgres]'"
SCHEMES = ("postgresql", "postgres")
DRIVERS = ("", "psycopg", "psycopg_async", "psycopg2", "asyncpg")
"""What users of SQLAlchemy have behind a plus sign; penstock uses psycopg, whichever is named."""

POOL_MAX = 1000
TIMEOUT_SECONDS_MIN, TIMEOUT_SECONDS_MAX = 0.1, 3600.0

_PARTS = re.compile(r"(?P<scheme>[^:/]*)://(?:(?P<user>[^@/?]*)@)?(?P<hosts>[^/?]*)(?P<path>[^?]*)(?:\?(?P<query>.*))?")
_HOST = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]{0,5}))?")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})|%00")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresAddress:
    """An address in its parts. `conninfo` is what the driver gets, password included; `shown` is for messages.

    `notify`: whether workers are woken by NOTIFY. `prepare`: whether statements may be prepared. `pool`: the most
    connections for plain calls. `timeout`: the seconds that a healthy server may take for one ordinary statement.
    """

    conninfo: str = field(repr=False)
    shown: str
    schema: str = DEFAULT_SCHEMA
    notify: bool = True
    prepare: bool = True
    pool: int = 10
    timeout: float = 30.0

    @property
    def names_schema(self) -> bool:
        """Whether it names another schema than the one that stores have by default."""
        return self.schema != DEFAULT_SCHEMA

    def in_schema(self, schema: str) -> str:
        """The whole address again, secrets included, with another schema."""
        own = {"schema": schema, "notify": _word(self.notify), "prepare": _word(self.prepare), "pool": str(self.pool),
               "timeout": format_duration(self.timeout)}  # fmt: skip
        return _joined(self.conninfo, [f"{name}={value}" for name, value in own.items()])


def parse(address: str) -> PostgresAddress:
    """The parts of an address, or an error that names the one that is wrong."""
    parts = _split(address)
    own, passed = _options(address, parts["query"] or "")
    _check_passed(address, passed)
    try:
        values = {name: _OWN[name](text) for name, text in own.items()}
    except ConfigError as error:
        _refuse(address, str(error))
    user, place = parts["user"], f"{parts['hosts']}{parts['path']}"
    return PostgresAddress(
        conninfo=_joined(f"postgresql://{'' if user is None else f'{user}@'}{place}", passed),
        shown=_shown(user or "", place, passed, values.get("schema", DEFAULT_SCHEMA)),
        **values,
    )


# The parts


def _split(address: str) -> dict[str, str | None]:
    if not address.isprintable() or " " in address:
        _refuse(address, "it contains a space or a control character; write it with % and its code, such as %20")
    parts = _PARTS.fullmatch(address)
    scheme, _, driver = parts["scheme"].lower().partition("+") if parts else ("", "", "")
    if parts is None or scheme not in SCHEMES or driver not in DRIVERS:
        _refuse(address, "write it like postgresql://user@host:5432/database; penstock brings the driver")
    if "@" in f"{parts['hosts']}{parts['path']}":
        _refuse(address, "a user or password contains @ or /; write them as %40 and %2F")
    if "&" in (parts["path"] or ""):
        _refuse(address, "the first option stands after a ?, and only those that follow after a &")
    if _BAD_ESCAPE.search(address):
        _refuse(address, "a % is not followed by the code of a character; write % itself as %25")
    for host in parts["hosts"].split(","):
        found = _HOST.fullmatch(host)
        if found is None or not 0 < int(found["port"] or 5432) < 65536:
            _refuse(address, "after the colon of a host stands its port, a number up to 65535")
    return parts.groupdict()


def _options(address: str, query: str) -> tuple[dict[str, str], list[str]]:
    """Our own options by name, and the others as they were written, for libpq."""
    own, passed = dict[str, str](), list[str]()
    for option in filter(None, query.split("&")):
        name, equals, value = option.partition("=")
        if not equals or "@" in name or "=" in value:
            _refuse(address, "an option is not NAME=VALUE; inside of a value, or of a password, write ? & = as "
                    "%3F %26 %3D")  # fmt: skip
        if name not in _OWN:
            passed.append(option)
        elif name in own:
            _refuse(address, f"the option {name} is given twice")
        else:
            own[name] = unquote(value)
    return own, passed


def _check_passed(address: str, passed: list[str]) -> None:
    """libpq would refuse an unknown option at the first connection; here it is refused with the nearest known one."""
    if not passed:
        return
    known = libpq_options()
    for option in passed:
        name = option.partition("=")[0]
        if name in known or option == "ssl=true":  # which libpq knows as another spelling of sslmode=require
            continue
        near = get_close_matches(name, [*_OWN, *known], n=1)
        fix = f"did you mean {near[0]}?" if near else f"those of penstock are {', '.join(_OWN)}; the others are libpq's"
        _refuse(address, f"the option {brief(name)} is not known; {fix}")


def libpq_options() -> list[str]:
    """The connection options that the installed libpq knows."""
    pq: Any = require_driver().pq
    return [option.keyword.decode() for option in pq.Conninfo.get_defaults()]


def require_driver() -> Any:
    """The driver, or how to get it."""
    try:
        import psycopg
        import psycopg.pq
    except ImportError as error:
        raise ConfigError(f"a PostgreSQL store needs the driver psycopg ({error}): {INSTALL}") from None
    return psycopg


def _shown(user: str, place: str, passed: list[str], schema: str) -> str:
    name = user.partition(":")[0]
    options = [option for option in passed if option.partition("=")[0] in HARMLESS]
    options += [] if schema == DEFAULT_SCHEMA else [f"schema={schema}"]
    return masked(_joined(f"postgresql://{f'{name}@' if name else ''}{place}", options))


def _joined(base: str, options: list[str]) -> str:
    return base + ("&" if "?" in base else "?") + "&".join(options) if options else base


def _refuse(address: str, what: str) -> NoReturn:
    raise ConfigError(f"store {brief(masked(address), ADDRESS_CHARS)} is not possible: {what}")


# Our own options


def _schema(text: str) -> str:
    quoted(text)
    if len(text) > SCHEMA_CHARS_MAX:
        raise ConfigError(f"schema={brief(text)} is too long: at most {SCHEMA_CHARS_MAX} characters")
    return text


def _switch(name: str) -> Callable[[str], bool]:
    def read(text: str) -> bool:
        if text.lower() not in ("on", "off"):
            raise ConfigError(f"{name}={brief(text)} does not exist; use on or off")
        return text.lower() == "on"

    return read


def _word(switch: bool) -> str:
    return "on" if switch else "off"


def _pool(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,4}", text) or not 1 <= int(text) <= POOL_MAX:
        raise ConfigError(f"pool={brief(text)} is not possible: a whole number of connections, 1 to {POOL_MAX}")
    return int(text)


def _timeout(text: str) -> float:
    seconds = parse_duration(float(text) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) else text, "timeout")
    if not TIMEOUT_SECONDS_MIN <= seconds <= TIMEOUT_SECONDS_MAX:
        raise ConfigError(f"timeout={brief(text)} is not possible: from 100ms to 1h")
    return seconds


_OWN: dict[str, Callable[[str], Any]] = {
    "schema": _schema, "notify": _switch("notify"), "prepare": _switch("prepare"), "pool": _pool, "timeout": _timeout,
}  # fmt: skip
