"""What rights the files get that are made here: the store, and the lock file beside it.

Whoever can open the lock file can keep everybody from writing, so it is open to those who may write to the store and to
nobody else. SQLite itself gives the log and its index the rights and the owner of the store.
"""

from __future__ import annotations

import os
import stat
import threading

from penstock.domain.errors import StoreReadOnly

PRIVATE = stat.S_IRUSR | stat.S_IWUSR
_GROUP = stat.S_IRGRP | stat.S_IWGRP
_OTHERS = stat.S_IROTH | stat.S_IWOTH

_making = threading.Lock()


def make_private(path: str) -> None:
    """A new file that is its owner's alone, unless there is one already."""
    # Closing it drops all locks that this process has on the file: nobody here may open it meanwhile.
    with _making:
        if not os.path.lexists(path):
            try:
                file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
                os.fchmod(file, PRIVATE)  # The umask may have taken away what its owner needs.
                os.close(file)
            except OSError:
                pass  # SQLite says better what is wrong here, or another process was first.


def lock_mode(store: int) -> int:
    """The rights of the lock file beside a store with these rights."""
    return PRIVATE | (_GROUP if store & stat.S_IWGRP else 0) | (_OTHERS if store & stat.S_IWOTH else 0)


def open_lock(path: str) -> int:
    """The lock file of a store, made if it is not there."""
    name = f"{path}-lock"
    try:
        return _open_lock(name, os.stat(path))
    except OSError as error:
        if not os.access(path, os.W_OK):
            raise StoreReadOnly(f"{path}: the file cannot be written; give this user write access to it") from None
        raise StoreReadOnly(
            f"{name}: the lock file, by which processes take turns to write, cannot be opened ({error.strerror}); "
            "`penstock doctor` says what to do"
        ) from None


def _open_lock(name: str, store: os.stat_result) -> int:
    wanted = lock_mode(store.st_mode)
    try:
        file = os.open(name, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE)
    except FileExistsError:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        found = os.fstat(file)
        # Not what somebody has put there for another file: that its rights are changed could be what they want.
        ours = found.st_uid == os.geteuid() and found.st_nlink == 1 and stat.S_ISREG(found.st_mode)
    else:
        found, ours = os.fstat(file), True
        _give_to_owner(file, store)
    if ours and stat.S_IMODE(found.st_mode) != wanted:
        os.fchmod(file, wanted)
    return file


def _give_to_owner(file: int, store: os.stat_result) -> None:
    """As far as this user may: the group, if they are in it; the owner too, if they are root."""
    try:
        os.fchown(file, store.st_uid if os.geteuid() == 0 else -1, store.st_gid)
    except OSError:
        pass
