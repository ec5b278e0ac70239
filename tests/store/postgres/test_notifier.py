"""Commits that notify take turns at the server: the first of a flood notifies at once, the others together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

from penstock import App
from penstock.store.postgres.connection import notifier
from penstock.store.postgres.store import PostgresStore
from tests.contract.engines import postgresql
from tests.postgres.binaries import VERSIONS
from tests.postgres.server import shared

END = "end"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    engine = postgresql(max(VERSIONS))
    address = engine.address(tmp_path)
    yield address
    engine.drop(address)


@pytest.fixture
def channel(address: str) -> str:
    (schema,) = parse_qs(urlsplit(address).query)["schema"]
    return f"penstock_{schema}"


@pytest.fixture
def listener(channel: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(shared(max(VERSIONS)).url(), autocommit=True) as listener:
        listener.execute(f'LISTEN "{channel}"')
        yield listener


def test_the_first_of_many_notifies_at_once_and_closing_sends_what_is_owed(
    address: str, channel: str, listener: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def heard() -> int:
        """How many notifications there were so far: one of our own comes after all of them."""
        listener.execute("SELECT pg_notify(%s, %s)", (channel, END))
        return sum(1 for _ in takewhile(lambda one: one.payload != END, listener.notifies(timeout=30)))

    app = App(address)
    store = cast(PostgresStore, app.store)
    monkeypatch.setattr(notifier, "WINDOW_SECONDS", 3600.0)
    monkeypatch.setattr(store._connections.notifier, "_last", float("-inf"))
    for _ in range(5):
        app.enqueue("work")
    assert heard() == 1
    app.close()
    assert heard() == 1


def test_what_is_owed_is_sent_though_nobody_enqueues_any_more(
    address: str, listener: psycopg.Connection[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notifier, "WINDOW_SECONDS", 0.5)
    app = App(address)
    for _ in range(2):
        app.enqueue("work")
    assert sum(1 for _ in listener.notifies(timeout=30, stop_after=2)) == 2
    app.close()
