"""A copy that nobody uses is read as it lies there; what has to be opened for use is left to that."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from penstock.domain.errors import StoreError
from penstock.store.sqlite.connection.still import read_still
from penstock.store.sqlite.store import SqliteStore
from tests.store.sqlite.conftest import enqueue


def count(db: apsw.Connection, now: int) -> object:
    return db.execute("SELECT count(*) FROM penstock_job").get


def copy_of(path: Path) -> Path:
    """As a backup leaves it: one file, without a log."""
    store = SqliteStore(str(path))
    enqueue(store)
    store.close()
    copy = path.with_name("copy.db")
    db = apsw.Connection(str(path))
    db.execute("VACUUM INTO ?", (str(copy),))
    db.close()
    return copy


def test_a_copy_is_read(tmp_path: Path) -> None:
    assert read_still(str(copy_of(tmp_path / "jobs.db")), None, count, 0) == (1,)


def test_a_store_in_use_is_left_to_be_opened(tmp_path: Path) -> None:
    copy_of(tmp_path / "jobs.db")
    assert read_still(str(tmp_path / "jobs.db"), None, count, 0) is None


def test_what_cannot_be_asked_is_an_error_of_the_store(tmp_path: Path) -> None:
    def wrong(db: apsw.Connection, now: int) -> object:
        return db.execute("SELECT * FROM nothing").get

    with pytest.raises(StoreError):
        read_still(str(copy_of(tmp_path / "jobs.db")), None, wrong, 0)
