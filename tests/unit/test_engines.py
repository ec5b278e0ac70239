"""Which store an address means, and which addresses are refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.domain.errors import ConfigError
from penstock.engines import SqliteAddress, open_store, parse_address
from penstock.store.sqlite.store import SqliteStore
from tests.contract.clock import FakeClock


def opened(address: str) -> SqliteStore:
    store = open_store(address)
    assert isinstance(store, SqliteStore)
    return store


def test_absolute_relative_and_quoted_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert opened("sqlite:///jobs.db").path == str(tmp_path / "jobs.db")
    assert opened(f"sqlite:///{tmp_path}/jobs.db").path == str(tmp_path / "jobs.db")
    assert opened("sqlite:////data/my%20jobs.db").path == "/data/my jobs.db"


def test_nothing_is_opened_yet(tmp_path: Path) -> None:
    open_store(f"sqlite:///{tmp_path}/no/such/folder/jobs.db").close()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("jobs.db", "not understood"),
        ("mysql://host/jobs", "not understood"),
        ("", "not understood"),
        ("sqlite://jobs.db", "two slashes too few"),
        ("sqlite:///", "names no file"),
        ("sqlite:///:memory:", "must survive the process"),
        ("sqlite:///a\0b", r"'sqlite:///a\\x00b'.*no NUL"),
        ("sqlite:///a%00b", "'sqlite:///a%00b'.*no NUL"),
        ("sqlite:///a\ud800b", r"'sqlite:///a\\ud800b'.*no half of a character"),
        ("sqlite:////srv/a\udcffb/jobs.db", "no half of a character"),
        ("sqlite:///jobs.db?synchronous=off", "not known"),
        ("sqlite:///jobs.db?cache=shared", "not known"),
        ("sqlite://[jobs.db", "not an address"),
        ("postgres:/host/jobs", "not understood"),
        ("postgresql//host/jobs", "not understood"),
        ("postgresql://host/jobs?pool=0", "pool='0' is not possible"),
    ],
)
def test_addresses_that_are_refused(address: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        open_store(address)


def test_a_password_is_not_shown() -> None:
    for address in ("mysql://me:secret@host/jobs", "mysql://host/jobs?password=secret", "sqlite://me:sec:ret@secret@x"):
        with pytest.raises(ConfigError) as caught:
            open_store(address)
        assert "secret" not in str(caught.value)


def test_durability_clock_and_randomness_are_handed_on(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/jobs.db?synchronous=NORMAL", clock=FakeClock(), random=lambda: 0.5)
    assert "NORMAL" in store.info.durability
    store.close()
    full = opened(f"sqlite:///{tmp_path}/jobs.db?synchronous=full")
    assert "FULL" in full.info.durability
    full.close()


def test_what_is_not_understood_is_answered_with_an_example_of_each_engine() -> None:
    with pytest.raises(ConfigError, match=r"sqlite:///jobs\.db .* postgresql://user@host/database"):
        parse_address("jobs")


def test_an_address_is_judged_without_loading_an_engine() -> None:
    code = """
import sys
from penstock.engines import parse_address
parse_address("sqlite:///jobs.db")
parse_address("postgresql://me:secret@host/jobs?schema=shop&pool=3")
print(sorted({"apsw", "psycopg"} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_both_kinds_of_address_can_be_shown() -> None:
    sqlite, postgres = parse_address("sqlite:////data/jobs.db"), parse_address("postgres://me:secret@host/jobs")
    assert isinstance(sqlite, SqliteAddress)
    assert (sqlite.path, sqlite.shown) == ("/data/jobs.db", "sqlite:////data/jobs.db")
    assert postgres.shown == "postgresql://me@host/jobs"


def test_postgres_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"pip install 'penstock\[postgres\]'"):
        open_store("postgresql://host/jobs")
