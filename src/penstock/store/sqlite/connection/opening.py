"""Opening the file safely: the version guard, the pragmas, patient waiting, and the schema.

Never opens a connection on an SQLite with a known corruption defect, and never carries one over a fork.
"""

from __future__ import annotations

import ctypes
import os
import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Literal

import apsw

from penstock.domain.errors import NotAStore, StoreError, StoreVersionError, UnsafeSQLite
from penstock.store.contract import MigrationStatus
from penstock.store.sqlite.connection import errors
from penstock.store.sqlite.connection.errors import translate
from penstock.store.sqlite.connection.rights import make_private
from penstock.store.sqlite.connection.statements import migrations

Synchronous = Literal["full", "normal"]

SAFE_SINCE = (3, 51, 3)
WITHDRAWN = frozenset({(3, 52, 0)})
WAL_CHECKPOINT_PAGES = 4000
WAL_BYTES_KEPT = 64 * 1024 * 1024
CACHE_KIB = 16 * 1024
_OLDEST = re.compile(r"^-- oldest: (\d+)$", re.MULTILINE)


def check_library(version: str) -> None:
    """Refuse an SQLite that can corrupt a WAL database under concurrent writers (fixed in 3.51.3; 3.52.0 withdrawn)."""
    number = tuple(int(part) for part in version.split(".")[:3])
    if number < SAFE_SINCE or number in WITHDRAWN:
        raise UnsafeSQLite(
            f"this process uses SQLite {version}, which can corrupt a database that several processes write to; "
            "install the apsw wheel from PyPI (pip install --only-binary apsw 'apsw>=3.53'), which brings a safe one"
        )


def connect(path: str, synchronous: Synchronous = "full", vfs: str | None = None) -> apsw.Connection:
    """A connection in WAL mode with the durability asked for. Raises store errors that name the file."""
    check_library(apsw.sqlite_lib_version())
    make_private(path)
    try:
        db = apsw.Connection(path, vfs=vfs)
        db.set_busy_handler(_LockWait())
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)  # Or a statement is planned again whenever its limit is bound.
        keep_log(db, True)
        mode = _enter_wal(db)
        db.execute(
            f"PRAGMA synchronous = {synchronous}; PRAGMA wal_autocheckpoint = {WAL_CHECKPOINT_PAGES};"
            f"PRAGMA journal_size_limit = {WAL_BYTES_KEPT}; PRAGMA cache_size = -{CACHE_KIB};"
            "PRAGMA mmap_size = 0; PRAGMA temp_store = memory; PRAGMA trusted_schema = off"
        ).fetchall()  # A pragma that answers pauses the rest until its rows are read.
    except apsw.Error as error:
        raise translate(error, path) from None
    if mode != "wal":
        raise StoreError(f"{path}: this file system does not allow write-ahead logging; use a local disk")
    return db


def has_moved(db: apsw.Connection) -> bool:
    """Whether the file that this connection has open is not the one at its path."""
    moved = ctypes.c_int(0)
    db.file_control("main", apsw.SQLITE_FCNTL_HAS_MOVED, ctypes.addressof(moved))
    return bool(moved.value)


def _enter_wal(db: apsw.Connection) -> Any:
    """Of several that switch a new file at once, SQLite refuses all but one without asking the busy handler."""
    wait, tries = _LockWait(), count()
    while True:
        try:
            return db.execute("PRAGMA journal_mode = WAL").get
        except apsw.BusyError:
            if not wait(next(tries)):
                raise


@contextmanager
def reading(path: str, vfs: str | None = None) -> Iterator[apsw.Connection]:
    """A connection that cannot change the file."""
    check_library(apsw.sqlite_lib_version())
    try:
        db = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs)
        db.set_busy_handler(_LockWait())
    except apsw.Error as error:
        raise translate(error, path) from None
    try:
        yield db
    finally:
        db.close()


def undo_cut_off(path: str, vfs: str | None = None) -> None:
    """Undo what somebody had half written who made the file, or copied into it, and was cut off. Whoever opens it to
    write does that; who only looks cannot.
    """
    if os.path.exists(f"{path}-journal"):
        connect(path, vfs=vfs).close()


def look(path: str, vfs: str | None = None) -> MigrationStatus:
    """The schema of the file as it is, through a connection that cannot change it."""
    with reading(path, vfs) as db:
        return schema_status(db, path)


class _LockWait:
    """How a connection waits while a program that knows nothing of turns writes: short naps, up to a limit."""

    def __init__(self) -> None:
        self._end = 0.0

    def __call__(self, tries: int) -> bool:
        now = time.monotonic()
        if tries == 0:
            self._end = now + errors.BUSY_SECONDS
        time.sleep(0.0005 + random.random() * 0.001)
        return now < self._end


def keep_log(db: apsw.Connection, keep: bool) -> None:
    """Whether the last to close leaves the log, or moves what is in it into the file and deletes it by its name.

    The latter is for those who know that both are still theirs: into a backup that was copied over the file it would
    write pages of another past.
    """
    db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(keep))


def leak(db: apsw.Connection) -> None:
    """Make sure that a connection inherited over a fork is never closed here: that would harm the parent's locks."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(db))


def schema_status(db: apsw.Connection, path: str) -> MigrationStatus:
    """The version of the tables in this file and the migrations that are not applied yet."""
    known = migrations()
    latest = known[-1][0]
    try:
        exists = db.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'penstock_meta'").get
        rows: list[Any] = db.execute("SELECT key, value FROM penstock_meta").fetchall() if exists else []
    except apsw.Error as error:
        raise translate(error, path) from None
    meta: dict[str, int] = dict(rows)
    current = meta.get("schema_version", 0)
    if exists and current < 1:
        raise NotAStore(
            f"{path}: there is a store in it, but its table penstock_meta does not say of which version: somebody has "
            "changed the tables by hand, or this is a part of a copy; restore a backup, or, if this version of "
            f"penstock was the last to use it, put the version back: {_note(latest, known[-1][2])}"
        )
    if meta.get("oldest", current) > latest:
        raise StoreVersionError(
            f"{path}: the store has schema version {current}, this penstock knows up to {latest}; upgrade penstock"
        )
    return MigrationStatus(current, latest, [name for version, name, _ in known if version > current])


def migration_script(current: int) -> str:
    """The migrations after a version as one script, all or nothing if whoever runs it stops at the first error."""
    pending = [(version, name, text) for version, name, text in migrations() if version > current]
    steps = [f"-- {name}\n{text.rstrip()}\n{_note(version, text)}\n" for version, name, text in pending]
    return "\n".join(["-- for: sqlite3 -bail FILE\nBEGIN IMMEDIATE;\n", *steps, "COMMIT;\n"]) if steps else ""


def _note(version: int, text: str) -> str:
    """Programs that know only older versions go on, unless the migration does not say that they may."""
    named = _OLDEST.search(text)
    values = f"('schema_version', {version}), ('oldest', {int(named[1]) if named else version})"
    return f"INSERT OR REPLACE INTO penstock_meta VALUES {values};"


def migrate(db: apsw.Connection, path: str) -> MigrationStatus:
    """Apply what is missing in one transaction; many processes may try at once, one does it."""
    before = schema_status(db, path)
    if not before.pending:
        return before
    try:
        db.execute("BEGIN IMMEDIATE")
        current = schema_status(db, path).current
        for version, _, text in migrations():
            if version > current:
                db.execute(text)
                db.execute(_note(version, text))
        db.execute("COMMIT")
    except apsw.Error as error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise translate(error, path) from None
    return before
