"""What threatens a store in an SQLite file, found without changing it (the engine's part of `penstock doctor`)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import apsw

from penstock.domain.errors import StoreError
from penstock.store.contract import Finding
from penstock.store.sql.declared import type_findings
from penstock.store.sql.faults import fault_findings, flow_findings
from penstock.store.sqlite.connection import opening as connection
from penstock.store.sqlite.connection.errors import translate
from penstock.store.sqlite.connection.place import check_place, migrate_command, missing
from penstock.store.sqlite.connection.statements import sql
from penstock.store.sqlite.connection.tx import fetch

QUICK_BYTES_MAX = 64 * 1024 * 1024
RESTORE = "stop everything that uses it, keep a copy of the file with its -wal, and restore a backup"
KEEP = "keep a copy of the file (VACUUM INTO) and report it"
INTEGRITY = ("check_pointers", "check_workflows")
"""The statements that find what must never be. Tests ask them too."""
WAL_BYTES_WARN = 4 * connection.WAL_BYTES_KEPT


def check_store(path: str, durability: str, vfs: str | None, deep: bool) -> list[Finding]:
    """All findings of this engine; the database itself is only read when it is there and the library is safe."""
    found = [_library(), _other_copies()]
    absent = missing(path)
    found += [absent] if absent else []
    found += check_place(path)
    if absent is None and found[0].level == "ok":
        found += _database(path, durability, vfs, deep)
    return found


# The library


def _library() -> Finding:
    version = apsw.sqlite_lib_version()
    try:
        connection.check_library(version)
    except StoreError as error:
        return Finding.from_error("sqlite", error)
    return Finding("sqlite", "ok", f"SQLite {version}, apsw {apsw.apsw_version()}")


def _other_copies() -> Finding:
    copies = other_copies()
    if not copies:
        return Finding("sqlite copies", "ok", "no other copy of SQLite is loaded in this process")
    return Finding(
        "sqlite copies", "warning",
        f"this process has also loaded {', '.join(copies)}: two copies that open one file lose each other's locks",
        "never open this store with the other one in a process that uses penstock; for your own tables in the same "
        "file use app.transaction()",
    )  # fmt: skip


def other_copies(bundled: bool = apsw.using_amalgamation) -> list[str]:
    """The SQLite libraries in this process that are not the one that apsw uses."""
    module = sys.modules.get("_sqlite3")
    version = getattr(module, "sqlite_version", "")
    if not bundled and version in ("", apsw.sqlite_lib_version()):
        return []  # Both are the library of the system: one copy.
    loaded = {name for name in _loaded_objects() if "sqlite" in name.lower() or "sqlcipher" in name.lower()}
    named = [f"Python's sqlite3 module (SQLite {version})"] if module is not None else []
    return named + sorted(name for name in loaded if not name.startswith("_sqlite3."))


def _loaded_objects() -> set[str]:
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return set()
    return {os.path.basename(found) for found in re.findall(r"(/.*\.so(?:\.[\d.]+)?)$", maps, flags=re.MULTILINE)}


# The database


def _database(path: str, durability: str, vfs: str | None, deep: bool) -> Iterator[Finding]:
    try:
        with connection.reading(path, vfs) as db:
            schema = _schema(db, path)
            yield schema
            yield _durability(db, durability)
            yield _integrity(db, path, deep)
            if schema.level == "ok":
                yield from type_findings(fetch(db, sql("read_types"), {}))
            if deep and schema.level == "ok":
                yield from fault_findings("jobs", db.execute(sql("check_pointers")), KEEP)
                yield from flow_findings(db.execute(sql("check_workflows")), KEEP)
    except apsw.Error as error:
        yield Finding.from_error("store", translate(error, path))
    except StoreError as error:
        yield Finding.from_error("store", error)
    yield _log_size(f"{path}-wal")


def _schema(db: apsw.Connection, path: str) -> Finding:
    status = connection.schema_status(db, path)
    if status.current == 0:
        return Finding(
            "schema", "error", f"{path} is a database without a store in it",
            f"name another file, or add a store to this one: {migrate_command(path)}",
        )  # fmt: skip
    if status.pending:
        return Finding(
            "schema", "warning", f"the schema has version {status.current}, this penstock uses {status.latest}",
            f"it is brought up at the next use; to do it now: {migrate_command(path)}",
        )  # fmt: skip
    return Finding("schema", "ok", f"version {status.current}, the latest")


def _durability(db: apsw.Connection, durability: str) -> Finding:
    mode = db.execute("PRAGMA journal_mode").get
    if mode == "wal":
        return Finding("durability", "ok", durability)
    # Nobody can change it while the store is in use, and whoever uses it next sets WAL.
    said = f"not in use since it was made, copied or restored (journal mode {mode}); in use: {durability}"
    return Finding("durability", "ok", said)


def _integrity(db: apsw.Connection, path: str, deep: bool) -> Finding:
    size = os.path.getsize(path)
    if not deep and size > QUICK_BYTES_MAX:
        return Finding("integrity", "ok", f"not checked: {size / 2**20:,.0f} MiB take a while; --deep does it")
    answer = db.execute("PRAGMA integrity_check(1)" if deep else "PRAGMA quick_check(1)").get
    if answer == "ok":
        return Finding("integrity", "ok", "every page checked" if deep else "quick check passed")
    return Finding(
        "integrity", "error", f"{path} is damaged: {' '.join(str(answer).split())}",
        RESTORE,
    )  # fmt: skip


def _log_size(log: str) -> Finding:
    try:
        size = os.path.getsize(log)
    except OSError:
        size = 0
    said = f"{size / 2**20:,.1f} MiB"
    if size <= WAL_BYTES_WARN:
        return Finding("write-ahead log", "ok", said)
    return Finding(
        "write-ahead log", "warning", f"{log} has grown to {said}: a read or a transaction that stays open keeps it "
        "from being emptied, and reading gets slower",
        "end long transactions, open SQL shells and backups on this file; it shrinks by itself afterwards",
    )  # fmt: skip
