"""The schedules of a config: a table each, with the words of app.schedule() and of an enqueue.

[schedules.nightly]
type = "cleanup"
payload = { days = 7 }
cron = "0 3 * * *"
timezone = "Europe/Berlin"
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from penstock.client.client import enqueue_options
from penstock.client.schedules.installing import Configured
from penstock.client.schedules.plan import KNOWN as WHEN, check_schedule_name, check_when, refuse_unknown
from penstock.domain.errors import ConfigError
from penstock.domain.options import DEFAULTS, Tenant, Unique, check_name
from penstock.domain.texts import brief

SCHEDULE_EXAMPLE = '{"nightly": {"type": "cleanup", "cron": "0 3 * * *"}}'
OPTIONS = ("queue", "priority", "capability", "attempts", "timeout", "ttl", "delay", "tags")
UNIQUE = ("unique", "unique_per", "unique_scope")
_FORM = 'write [schedules.nightly] and below it type = "cleanup" and cron = "0 3 * * *"'


def read_schedules(value: object, name: str) -> tuple[Configured, ...]:
    """Sorted by name. In the environment they are JSON."""
    given = _from_text(value, name) if isinstance(value, str) else value
    if not isinstance(given, dict):
        raise ConfigError(f"{name}={brief(value)} is not possible: {_FORM}")
    return tuple(_read(key, given[key], f"{name}.{key}") for key in sorted(given))


def show_schedules(found: tuple[Configured, ...]) -> str:
    return msgspec.json.encode({one.name: _written(one) for one in found}).decode()


def _from_text(text: str, name: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"{name} is not JSON ({error}): write it like {SCHEDULE_EXAMPLE}") from None


def _read(key: str, table: object, name: str) -> Configured:
    if not isinstance(table, dict) or not isinstance(table.get("type"), str):
        raise ConfigError(f"{name}={brief(table)} has no type of job: {_FORM}")
    try:
        refuse_unknown(table, ("type", "payload", *WHEN, *OPTIONS, "tenant", *UNIQUE))
        payload = table.get("payload", {})
        if not isinstance(payload, dict):
            raise ConfigError(f"payload={brief(payload)} is not a table: give the handler's parameters by name")
        when = {word: _moment(table[word], word) for word in WHEN if word in table}
        check_when(when)
        options = _options(table)
        enqueue_options(DEFAULTS, options)
        return Configured(check_schedule_name(key), check_name(table["type"], "type"), payload, options, when)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None


def _moment(value: object, word: str) -> object:
    """The environment has no times, only texts."""
    if word not in ("start", "end") or not isinstance(value, str):
        return value
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        raise ConfigError(f"{word}={brief(value)} is not a time: write it like 2030-01-31T12:00:00Z") from None


def _options(table: dict[str, Any]) -> dict[str, Any]:
    options = {word: table[word] for word in OPTIONS if word in table}
    if "tenant" in table:
        org, _, workspace = str(table["tenant"]).partition("/")
        options["tenant"] = Tenant(org, workspace or None)
    if "unique" in table:
        options["unique"] = Unique(table["unique"], table.get("unique_per"), table.get("unique_scope", "all"))
    elif any(word in table for word in UNIQUE):
        raise ConfigError("unique_per and unique_scope say more of unique: give that too")
    return options


def _written(one: Configured) -> dict[str, Any]:
    options = dict(one.options)
    written: dict[str, Any] = {"type": one.type, **({"payload": one.payload} if one.payload else {}), **one.when}
    tenant, unique = options.pop("tenant", None), options.pop("unique", None)
    if tenant is not None:
        written["tenant"] = tenant.org if tenant.workspace is None else f"{tenant.org}/{tenant.workspace}"
    if unique is not None:
        written |= {"unique": unique.key, "unique_scope": unique.scope}
        written |= {"unique_per": unique.per} if unique.per is not None else {}
    return written | options
