"""Limits as the store knows them: a job passes through its gates, each a key with a number (L1, L2).

A key may be a template, such as "store:{store_id}": every value has a gate of its own. Names in braces are fields of
the payload, {tenant} or {tenant.workspace}. What is stored with a job is the filled key.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Protocol

import msgspec

from penstock.domain.clock import MICROSECONDS
from penstock.domain.duration import format_duration
from penstock.domain.errors import ConfigError, PayloadError
from penstock.domain.options import NAME_LENGTH_MAX, Concurrency, RateLimit, Tenant
from penstock.domain.texts import UNSTORABLE, brief, is_storable

_formatter = string.Formatter()

WHOLE = ("queue", "type")


class Gate(msgspec.Struct, frozen=True, array_like=True):
    """At most `most` jobs at once; or, with a `period` of microseconds, so many starts in any such span of time.

    `name` is the kind and the filled key; `origin` the kind and the key as it was declared. `ordered`: they pass one
    after the other by their due times, each when the one before has ended for good. `declarer` is the type that stands
    for the declaration of its number, "" where one enqueue gave it, None where it is not known.
    """

    name: str
    most: int
    period: int | None
    origin: str
    ordered: bool = False
    declarer: str | None = None

    @property
    def key(self) -> str:
        return self.name.partition(":")[2]


def words_of(most: int, period: int | None, ordered: bool = False) -> str:
    if period is not None:
        return f"{most} per {format_duration(period / MICROSECONDS)}"
    return f"{most} at once, in order" if ordered else f"{most} at once"


class Limit(msgspec.Struct, frozen=True, array_like=True):
    """A limit that the config sets for all keys of an origin, whatever the code says."""

    origin: str
    most: int
    period: int | None

    @property
    def key(self) -> str:
        return self.origin.partition(":")[2]


def limit_of(limit: Concurrency | RateLimit) -> Limit:
    """A limit of the config as the store keeps it."""
    if isinstance(limit, Concurrency):
        return Limit(f"key:{limit.key}", limit.limit, None)
    return Limit(f"rate:{limit.key}", limit.requests, int(limit.per * MICROSECONDS))


def whole_of(key: str) -> tuple[str, str]:
    """The kind and the name of what a key of the config limits as a whole, such as queue:mail; else nothing."""
    kind, colon, name = key.partition(":")
    return (kind, name) if colon and kind in WHOLE else ("", "")


class Wholes:
    """The limits of whole queues and types, by what they limit."""

    def __init__(self, limits: Iterable[Limit] = ()) -> None:
        self._gates: dict[tuple[str, str], tuple[Gate, ...]] = {}
        for limit in limits:
            what = whole_of(limit.key)
            if what[0]:
                gate = Gate(limit.origin, limit.most, limit.period, limit.origin)
                self._gates[what] = (*self._gates.get(what, ()), gate)

    def __bool__(self) -> bool:
        return bool(self._gates)

    def gates_of(self, type: str, queue: str) -> tuple[Gate, ...]:
        """What a job of this type in this queue has to pass beside its own."""
        return self._gates.get(("type", type), ()) + self._gates.get(("queue", queue), ())


class Limited(Protocol):
    """What a job asks for: its type's options, with those of its enqueue."""

    @property
    def limit(self) -> Concurrency | None: ...
    @property
    def rate_limit(self) -> RateLimit | None: ...
    @property
    def tenant(self) -> Tenant | None: ...


class Declarers:
    """Which type stands for a limit: of those that declare it with the same number the first by name, so that all
    programs of one code base name the same one, and it tells a number that was changed from two that differ.
    """

    def __init__(self, types: Iterable[tuple[str, Limited]]) -> None:
        self._first: dict[Concurrency | RateLimit, str] = {}
        for name, options in sorted(types, key=itemgetter(0)):
            for limit in (options.limit, options.rate_limit):
                if limit is not None:
                    self._first.setdefault(limit, name)

    def of(self, limit: Concurrency | RateLimit) -> str:
        return self._first.get(limit, "")


def undeclared(gates: tuple[Gate, ...]) -> tuple[Gate, ...]:
    """For what is kept and compared longer than a declaration lasts."""
    return tuple(msgspec.structs.replace(gate, declarer=None) for gate in gates)


def gates_of(options: Limited, payload: Mapping[str, Any], what: str, declarers: Declarers) -> tuple[Gate, ...]:
    """The gates of one job. A field that the payload does not have is an error that names it."""
    found: list[Gate] = []
    if options.limit is not None:
        name = _fill_limit(options.limit.key, payload, options.tenant, what)
        limit = options.limit
        origin, declarer = f"key:{limit.key}", declarers.of(limit)
        found.append(Gate(f"key:{name}", limit.limit, None, origin, limit.ordered, declarer))
    if options.rate_limit is not None:
        rate = options.rate_limit
        name = _fill_limit(rate.key, payload, options.tenant, what)
        period, origin, declarer = int(rate.per * MICROSECONDS), f"rate:{rate.key}", declarers.of(rate)
        found.append(Gate(f"rate:{name}", rate.requests, period, origin, False, declarer))
    return tuple(found)


def _fill_limit(key: str, payload: Mapping[str, Any], tenant: Tenant | None, what: str) -> str:
    filled = fill(key, payload, tenant, what)
    refuse_whole(filled)
    return filled


def refuse_whole(key: str) -> None:
    """In code such a key would be taken for what the config says of a whole queue or type."""
    kind, name = whole_of(key)
    if kind:
        raise ConfigError(
            f"the key {brief(key)} of a limit is not possible: {kind}:NAME in the config limits a whole {kind}; "
            f"in the code give it another, such as {name or kind!r}"
        )


def fields_of(key: str) -> Iterator[str]:
    """The names in braces. A key that is no template has none."""
    try:
        parts = list(_formatter.parse(key))
    except ValueError as error:
        raise ConfigError(
            f"the key {brief(key)} is not a usable template: {error}; write it like 'store:{{store_id}}'"
        ) from None
    for _, field, form, conversion in parts:
        if field is None:
            continue
        if form or conversion or not all(part.isidentifier() for part in field.split(".")):
            raise ConfigError(
                f"the key {brief(key)} is not a usable template: between braces stands a name, as in {{store_id}}"
            )
        yield field


def check_key(key: str, known: frozenset[str] | None) -> None:
    """Refuse a template that names what no payload of its type will have. `known` is None where anything may come."""
    for field in fields_of(key):
        first = field.partition(".")[0]
        if known is not None and first not in known and first != "tenant":
            names = ", ".join(sorted(known)) or "none"
            raise ConfigError(
                f"the key {brief(key)} names {{{field}}}, which the handler does not have; its parameters are: {names}"
            )


def names_tenant(key: str) -> bool:
    """Whether the key is filled from the job's tenant."""
    return any(field.split(".")[0] == "tenant" for field in fields_of(key))


def fill(key: str, payload: Mapping[str, Any], tenant: Tenant | None, what: str) -> str:
    """The key with the values of one job."""
    values = {field: _text(_look_up(field, payload, tenant), field, key, what) for field in fields_of(key)}
    filled = key if not values else "".join(
        literal + (values[field] if field is not None else "") for literal, field, _, _ in _formatter.parse(key)
    )  # fmt: skip
    if not is_storable(filled):
        raise PayloadError(f"{what} makes the key {filled[:50]!r}, which no store can hold: {UNSTORABLE}")
    if not 0 < len(filled) <= NAME_LENGTH_MAX:
        raise ConfigError(
            f"the key {filled[:50]!r} is not possible: 1 to {NAME_LENGTH_MAX} characters, with its values"
        )
    return filled


def _look_up(field: str, payload: Mapping[str, Any], tenant: Tenant | None) -> Any:
    first, *rest = field.split(".")
    if first == "tenant" and first not in payload:
        if tenant is None:
            return None
        return tenant.workspace if rest == ["workspace"] else tenant.org
    value: Any = payload.get(first)
    for part in rest:
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _text(value: Any, field: str, key: str, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise PayloadError(
            f"{what} has no usable value for {{{field}}} of the key {brief(key)}: give it a text or a number, "
            f"not {brief(value)}"
        )
    return str(value)
