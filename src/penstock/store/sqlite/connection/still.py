"""A file that nobody uses, such as a backup: it is read as it is, and does not become a store in use by that.

Such a copy is not in WAL mode: `VACUUM INTO` leaves that out, and whoever uses a store switches it on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import apsw

from penstock.domain.errors import StoreError
from penstock.store.sqlite.connection import opening as connection
from penstock.store.sqlite.connection.errors import translate

T = TypeVar("T")


def read_still(path: str, vfs: str | None, query: Callable[[apsw.Connection, int], T], now: int) -> tuple[T] | None:
    """What the query answers, or None where the file has to be opened for use: it is in use, or of an older version, or
    cannot be read in this way.
    """
    with connection.reading(path, vfs) as db:
        if not _is_still(db, path):
            return None
        try:
            db.execute("BEGIN")
            return (query(db, now),)
        except apsw.Error as error:
            raise translate(error, path) from None


def _is_still(db: apsw.Connection, path: str) -> bool:
    try:
        return db.execute("PRAGMA journal_mode").get != "wal" and not connection.schema_status(db, path).pending
    except (apsw.Error, StoreError):
        return False
