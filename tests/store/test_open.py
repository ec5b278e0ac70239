"""Which store an address means, and which addresses are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.domain.errors import ConfigError
from penstock.store.open import open_store
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
        ("sqlite:///jobs.db?synchronous=off", "not known"),
        ("sqlite:///jobs.db?cache=shared", "not known"),
        ("sqlite://[jobs.db", "not an address"),
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
