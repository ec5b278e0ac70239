"""PostgreSQL's errors in penstock's words, each with the store it is about and what to do. Judged by SQLSTATE."""

from __future__ import annotations

from penstock.domain import errors
from penstock.domain.failure.interrupted import let_interrupt_out
from penstock.domain.failure.secrets import hide_secrets

# Nothing was stored, and the same again may well succeed: conflicts of transactions, and a plan that has aged.
SERIALIZATION_FAILURE, DEADLOCK = "40001", "40P01"
CACHED_PLAN = "0A000"
READ_ONLY = "25006"
AGAIN = frozenset({SERIALIZATION_FAILURE, DEADLOCK})
LOCK_TIMEOUT = "55P03"

_Kind = tuple[type[errors.StoreError], str]

_BY_STATE: dict[str, _Kind] = {
    READ_ONLY: (
        errors.StoreUnavailable,
        "the server is read-only ({error}); if it is a standby, wait for the failover or name all hosts in the address "
        "with ?target_session_attrs=read-write",
    ),
    "42501": (
        errors.StoreReadOnly,
        "this role may not do that ({error}); grant it what `penstock migrate --grants ROLE` prints",
    ),
    "42P01": (
        errors.StoreVersionError,
        "a table is missing ({error}); was the schema changed by hand? compare with `penstock migrate --dry-run`",
    ),
    "42703": (
        errors.StoreVersionError,
        "a column is missing ({error}); was the schema changed by hand? restore it from the migrations",
    ),
    "3F000": (errors.StoreMissing, "the schema is missing ({error}); make it with: penstock migrate"),
    "3D000": (errors.StoreMissing, "the database does not exist ({error}); create it: createdb -E UTF8 NAME"),
    "28000": (errors.StoreReadOnly, "the server does not let this role in ({error}); check user and pg_hba.conf"),
    "28P01": (errors.StoreReadOnly, "the password is wrong ({error}); check it"),
    "53100": (errors.StoreFull, "the server's disk is full ({error}); free space, then try again"),
    "53200": (errors.StoreUnavailable, "the server is out of memory ({error}); try again"),
    "53300": (
        errors.StoreUnavailable,
        "the server has no connection left ({error}); raise max_connections, lower ?pool=, or put a pooler between",
    ),
    "57014": (
        errors.StoreBusy,
        "a statement took longer than its limit ({error}); look for locks in pg_stat_activity, or raise ?timeout=",
    ),
    LOCK_TIMEOUT: (
        errors.StoreBusy,
        "another transaction holds a row that this needs ({error}); end it, then try again",
    ),
    SERIALIZATION_FAILURE: (errors.StoreBusy, "conflicts with other transactions did not end ({error}); try again"),
    DEADLOCK: (errors.StoreBusy, "deadlocks with other transactions did not end ({error}); try again"),
    CACHED_PLAN: (errors.StoreBusy, "the tables were changed meanwhile ({error}); try again"),
    "22021": (errors.StoreRefused, "a text cannot be stored ({error}); remove NUL and other invalid characters"),
}
_BY_CLASS: dict[str, _Kind] = {
    "08": (errors.StoreUnavailable, "the connection was lost ({error}); is the server running?"),
    "57": (errors.StoreUnavailable, "the server is shutting down or starting ({error}); try again"),
    "58": (errors.StoreUnavailable, "the server has an error of its own ({error}); see its log"),
    "22": (errors.StoreRefused, "the store answered: {error}"),
    "23": (errors.StoreRefused, "the store answered: {error}"),
    "53": (errors.StoreUnavailable, "the server is out of resources ({error}); try again later"),
    "42": (errors.StoreVersionError, "the tables are not as this version of penstock made them ({error})"),
}
_ANY: _Kind = (errors.StoreError, "the store answered: {error}")
_NO_STATE: _Kind = (errors.StoreUnavailable, "cannot reach the server ({error}); is it running, and the address right?")


def translate_state(state: str | None, message: str, address: str) -> errors.StoreError:
    """The store error that tells a person what happened at `address`."""
    kind, advice = _NO_STATE if state is None else _BY_STATE.get(state) or _BY_CLASS.get(state[:2]) or _ANY
    return kind(f"{address}: {advice.format(error=hide_secrets(' '.join(message.split())))}")


def translate(error: BaseException, address: str) -> errors.StoreError:
    """The same for an error of the driver, unless the driver made it of an interrupt."""
    let_interrupt_out(error)
    state = getattr(error, "sqlstate", None)
    import psycopg

    if state is None and isinstance(error, psycopg.DataError):
        return errors.StoreRefused(f"{address}: a value cannot be stored ({error}); remove NUL characters from texts")
    return translate_state(state, str(error) or type(error).__name__, address)
