"""SQLite's errors in penstock's words, each with the file it is about and what to do."""

from __future__ import annotations

import os

import apsw

from penstock.domain import errors
from penstock.store.sqlite.connection.place import migrate_command

BUSY_SECONDS = 30.0


def translate(error: apsw.Error, path: str) -> errors.StoreError:
    """The store error that tells a person what happened to `path`."""
    code = getattr(error, "extendedresult", 0)
    if code == apsw.SQLITE_IOERR_SHORT_READ and not _has_log(path):
        return beside_gone(path, "its log", f"{path}-wal", "while others use the store")
    if code == apsw.SQLITE_READONLY_ROLLBACK:
        return errors.StoreReadOnly(
            f"{path}: whoever wrote to it last was cut off in the midst, and a command that only looks may not undo "
            f"that; use the store, or run: {migrate_command(path)}"
        )
    kind, advice = _KINDS.get(type(error), (errors.StoreError, "the store answered: {error}"))
    return kind(f"{path}: {advice.format(error=error, seconds=BUSY_SECONDS)}")


def beside_gone(path: str, what: str, name: str, when: str) -> errors.StoreGone:
    """A file that belongs to the store is not the one that those who use it have open."""
    return errors.StoreGone(
        f"{path}: {what}, {name}, was deleted or replaced {when}; stop everything that uses the store, and restore a "
        "backup unless you have just done so: the newest jobs were in the log"
    )


def _has_log(path: str) -> bool:
    """Whether anything is in it: whoever opens a store makes an empty one."""
    try:
        return os.stat(f"{path}-wal").st_size > 0
    except OSError:
        return False


_KINDS: dict[type[apsw.Error], tuple[type[errors.StoreError], str]] = {
    apsw.BusyError: (
        errors.StoreBusy,
        "another program has held the write lock for {seconds:.0f} s; end its transaction, then try again",
    ),
    apsw.FullError: (
        errors.StoreFull,
        "no room left ({error}); free space on this disk or raise the size limit, then try again",
    ),
    apsw.ReadOnlyError: (
        errors.StoreReadOnly,
        "the file cannot be written ({error}); give this user write access to the file and its folder",
    ),
    apsw.CantOpenError: (
        errors.StoreReadOnly,
        "the file cannot be opened ({error}); check that the folder exists and that this user may write to it",
    ),
    apsw.PermissionsError: (errors.StoreReadOnly, "access denied ({error}); check the rights on the file"),
    apsw.AuthError: (errors.StoreReadOnly, "access denied ({error}); check the rights on the file"),
    apsw.NotADBError: (
        errors.NotAStore,
        "this file is not an SQLite database; name another file, or move this one away",
    ),
    apsw.CorruptError: (
        errors.NotAStore,
        "the database is damaged ({error}); stop all workers, keep a copy, and restore a backup",
    ),
    apsw.SQLError: (
        errors.StoreVersionError,
        "the tables are not as this version of penstock made them ({error}); was the schema changed by hand?",
    ),
    apsw.ConstraintError: (errors.StoreRefused, "it does not fit what is stored already ({error})"),
    apsw.TooBigError: (errors.StoreRefused, "a value is too big for SQLite ({error}); store the data elsewhere"),
    apsw.IOError: (errors.StoreError, "the disk reported an error ({error}); check the disk and the file system"),
    apsw.NoMemError: (errors.StoreError, "SQLite ran out of memory"),
}
