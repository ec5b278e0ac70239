"""What a PostgreSQL address means, what is passed on to libpq, and that no message ever holds a password."""

from __future__ import annotations

import sys

import pytest
from psycopg.conninfo import conninfo_to_dict

from penstock.domain.errors import ConfigError
from penstock.store.postgres.connection.address import parse


def test_an_address_without_options_has_the_defaults() -> None:
    address = parse("postgresql://me@host:5433/jobs")
    assert address.conninfo == address.shown == "postgresql://me@host:5433/jobs"
    assert (address.schema, address.notify, address.prepare, address.pool, address.timeout) == (
        "penstock", True, True, 10, 30.0,
    )  # fmt: skip
    assert not address.names_schema


def test_our_own_options_are_read_and_do_not_reach_libpq() -> None:
    address = parse("postgresql://host/jobs?schema=shop&notify=off&prepare=OFF&pool=1000&timeout=1m30s")
    assert address.conninfo == "postgresql://host/jobs"
    assert (address.schema, address.notify, address.prepare, address.pool, address.timeout) == (
        "shop", False, False, 1000, 90.0,
    )  # fmt: skip
    assert address.shown == "postgresql://host/jobs?schema=shop"
    assert address.names_schema
    assert parse("postgresql://host/jobs?timeout=2.5").timeout == 2.5


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgres://host/jobs", {"host": "host", "dbname": "jobs"}),
        ("postgresql+psycopg://host/jobs", {"host": "host", "dbname": "jobs"}),
        ("postgresql+asyncpg://host/jobs", {"host": "host", "dbname": "jobs"}),
        ("PostgreSQL+psycopg2://host/jobs", {"host": "host", "dbname": "jobs"}),
        ("postgresql://", {}),
        ("postgresql://host", {"host": "host"}),
        ("postgresql:///jobs?host=/run/postgresql", {"host": "/run/postgresql", "dbname": "jobs"}),
        ("postgresql://%2Frun%2Fpg/jobs", {"host": "/run/pg", "dbname": "jobs"}),
        ("postgresql://a,b:6000/jobs", {"host": "a,b", "port": ",6000", "dbname": "jobs"}),
        ("postgresql://[::1]:5433,[fe80::1]/jobs", {"host": "::1,fe80::1", "port": "5433,", "dbname": "jobs"}),
        ("postgresql://me:p%40ss%2Fw%25rd@host/my%20jobs",
         {"user": "me", "password": "p@ss/w%rd", "host": "host", "dbname": "my jobs"}),
        ("postgresql://host/?sslmode=verify-full&schema=x&connect_timeout=3&application_name=shop+web",
         {"host": "host", "sslmode": "verify-full", "connect_timeout": "3", "application_name": "shop+web"}),
        ("postgresql://a,b/?target_session_attrs=read-write",
         {"host": "a,b", "port": ",", "target_session_attrs": "read-write"}),
        ("postgresql://host/jobs?user=me@tenant&password=p%3Dw",
         {"host": "host", "dbname": "jobs", "user": "me@tenant", "password": "p=w"}),
        ("postgresql://host/?ssl=true", {"host": "host", "sslmode": "require"}),
    ],
)  # fmt: skip
def test_libpq_gets_what_the_address_says(address: str, expected: dict[str, str]) -> None:
    assert conninfo_to_dict(parse(address).conninfo) == expected


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("postgresql://host/jobs?scheme=x", "'scheme' is not known; did you mean schema"),
        ("postgresql://host/jobs?sslmod=require", "did you mean sslmode"),
        ("postgresql://host/jobs?zzzzz=1", "those of penstock are schema, notify"),
        ("postgresql://host/jobs?ssl=require", "'ssl' is not known"),
        ("postgresql://host/jobs?schema", "not NAME=VALUE"),
        ("postgresql://host/jobs?options=-csearch_path=x", "%3D"),
        ("postgresql://host/jobs?schema=a&schema=b", "schema is given twice"),
        ("postgresql://host/jobs?schema=", "schema='' is not possible"),
        ("postgresql://host/jobs?schema=a%22;drop", "is not possible: lower-case letters"),
        ("postgresql://host/jobs?schema=pg_toast", "not pg_"),
        (f"postgresql://host/jobs?schema={'x' * 55}", "at most 54 characters"),
        (f"postgresql://host/jobs?schema={'x' * 64}", "at most 54 characters"),
        ("postgresql://host/jobs?schema=A-B", "at most 54 characters"),
        ("postgresql://host/jobs?notify=maybe", "notify='maybe' does not exist; use on or off"),
        ("postgresql://host/jobs?prepare=1", "use on or off"),
        ("postgresql://host/jobs?pool=0", "1 to 1000"),
        ("postgresql://host/jobs?pool=1001", "1 to 1000"),
        ("postgresql://host/jobs?pool=ten", "1 to 1000"),
        ("postgresql://host/jobs?timeout=soon", "is not a duration"),
        ("postgresql://host/jobs?timeout=0", "100ms to 1h"),
        ("postgresql://host/jobs?timeout=2h", "100ms to 1h"),
        ("postgresql://host:port/jobs", "its port, a number"),
        ("postgresql://host:70000/jobs", "up to 65535"),
        ("postgresql://host:0/jobs", "up to 65535"),
        ("postgresql://[::1/jobs", "its port, a number"),
        ("postgresql://host/jo%bs", "write % itself as %25"),
        ("postgresql://host/jo%00bs", "write % itself as %25"),
        ("postgresql://host/my jobs", "a space or a control character"),
        ("postgresql://host/jobs\n--", "a space or a control character"),
        ("postgresql+pyscopg://host/jobs", "penstock brings the driver"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_fix(address: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(address)
    assert why in str(caught.value)


WITH_SECRETS = [
    "postgresql://me:secret@host/jobs",
    "postgresql://:secret@host/jobs",
    "postgresql://me@host/jobs?password=secret&sslpassword=secret&oauth_client_secret=secret",
    "postgresql://me:sec%40secret@host/jobs?schema=shop",
]
MISSPELT = [
    "postgresql://me:secret@host/jobs?nope=1",
    "postgresql://me:sec@secret@host/jobs",
    "postgresql://me:sec/secret@host/jobs",
    "postgresql://me:sec?secret@host/jobs",
    "postgresql://me:sec?x=secret@host/jobs",
    "postgresql://me:secret#host/jobs",
    "postgresql://me:%secret@host/jobs",
    "postgresql://me:secret with@host/jobs",
    "postgresql://host/jobs?password=secret&pool=0",
    "postgresql://host/jobs?PASSWORD=secret",
    "postgresql://host/jobs?password=sec=secret",
    "postgresql+nope://me:secret@host/jobs",
]


@pytest.mark.parametrize("address", WITH_SECRETS)
def test_a_password_reaches_libpq_and_nobody_else(address: str) -> None:
    parsed = parse(address)
    assert "secret" in parsed.conninfo
    assert "secret" not in parsed.shown
    assert "secret" not in repr(parsed)
    assert conninfo_to_dict(parsed.shown.partition("?")[0])["host"] == "host"


@pytest.mark.parametrize("address", MISSPELT)
def test_a_password_in_a_misspelt_address_is_not_shown(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(address)
    assert "secret" not in str(caught.value)


def test_the_address_in_another_schema_keeps_all_else() -> None:
    address = parse("postgres://me:pw@host/jobs?sslmode=disable&schema=shop&notify=off&pool=3&timeout=500ms")
    other = parse(address.in_schema("bench"))
    assert (other.conninfo, other.schema) == (address.conninfo, "bench")
    assert (other.notify, other.prepare, other.pool, other.timeout) == (False, True, 3, 0.5)


def test_without_the_driver_a_plain_address_is_judged_and_one_with_options_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "psycopg"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert parse("postgresql://host/jobs?schema=shop").schema == "shop"
    with pytest.raises(ConfigError, match=r"pip install 'penstock\[postgres\]'"):
        parse("postgresql://host/jobs?sslmode=require")
