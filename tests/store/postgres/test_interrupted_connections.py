"""A connection that an interrupt makes its owner forget is closed: however often, and whoever watches it still."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator

import pytest

from penstock.engines import open_store
from penstock.store.postgres.connection.database import Database
from penstock.store.postgres.connection.link import Role
from penstock.store.postgres.connection.pool import connect
from penstock.store.postgres.connection.watch import WATCH
from penstock.store.postgres.store import PostgresStore
from tests.e2e.interrupted import SIGNAL, Interrupts, open_files
from tests.postgres.server import shared

MOMENTS_MAX = 5000


@pytest.fixture
def interrupts() -> Iterator[Interrupts]:
    before = signal.getsignal(SIGNAL)
    yield Interrupts()
    signal.signal(SIGNAL, before)


@pytest.fixture
def database() -> Iterator[Database]:
    store = open_store(shared(18).url(schema="interrupted_connections"))
    assert isinstance(store, PostgresStore)
    yield store._database
    store.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # Of psycopg, for a connection that is forgotten.
def test_what_is_watched_and_forgotten_is_closed(database: Database) -> None:
    before = open_files()
    for _ in range(3):
        WATCH.begin(connect(database, Role.WRITE), 60)
    assert open_files() == before


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_who_is_interrupted_again_and_again_while_it_connects_leaves_nothing_open(
    database: Database, interrupts: Interrupts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # That of pytest keeps what it is told of, which is all.
    before = open_files()
    for moment in range(1, MOMENTS_MAX):
        ended = interrupts.during(lambda: connect(database, Role.WRITE).close(), moment, 1)
        assert open_files() == before, f"moment {moment}"
        if ended:
            return
    pytest.fail("it never connects")
