"""Where the file is: its file system, the room on it, and who may do what with the file and its neighbours.

Only asks the system about files and never opens them: closing one would drop the locks that SQLite holds on it.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from shlex import quote

from penstock.domain.errors import StoreReadOnly
from penstock.store.contract import Finding, Level, Room
from penstock.store.disk import IN_MEMORY, Mount, mount_of
from penstock.store.sqlite.connection.rights import lock_mode

# Shared memory and locks do not reach across machines; several of these have no working locks at all.
NETWORK = frozenset({
    "nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "gpfs", "beegfs",
    "virtiofs", "vboxsf", "prl_fs", "fuse",
})  # fmt: skip
CONTAINER = frozenset({"overlay", "aufs"})
UNSYNCED = frozenset({"nobarrier", "barrier=0"})
FREE_BYTES_LOW = 512 * 1024 * 1024
FREE_BYTES_MIN = 32 * 1024 * 1024
ELSEWHERE = "move the store to a local disk (or a volume of one) and name it with --store"


def check_place(path: str) -> Iterator[Finding]:
    """All about a path, also when nothing is there yet."""
    folder = _nearest_folder(path)
    yield _file_system(folder)
    yield _free_space(folder)
    yield from _rights(path)


def is_there(path: str) -> bool:
    """Whether there is anything at a path. Where this user may not look, nobody can tell."""
    try:
        os.stat(path)
    except PermissionError:
        folder = _nearest_folder(path)
        raise StoreReadOnly(
            f"{path}: the user {_user(_me())} may not enter {folder}, so it is not known whether there is a store; "
            "run as a user who may, or give this one the right to enter the folder (x)"
        ) from None
    except OSError:
        return False
    return True


def missing(path: str) -> Finding | None:
    """What is there instead of a file, if there is no file."""
    folder = os.path.dirname(path)
    if not os.access(_nearest_folder(path), os.X_OK):
        return None  # What is in there cannot be seen.
    if not os.path.isdir(folder):
        return Finding(
            "store", "error", f"the folder {folder} does not exist", f"correct the path, or: mkdir -p {quote(folder)}"
        )
    if os.path.isfile(path):
        return None
    if os.path.lexists(path):
        kind = "a folder" if os.path.isdir(path) else "no file, or a link that leads to none"
        return Finding("store", "error", f"{path} is {kind}", "name a file, such as sqlite:///jobs.db")
    return Finding(
        "store", "error", f"there is no store at {path}",
        f"correct the path (a relative one starts at the current folder), or: {migrate_command(path)}",
    )  # fmt: skip


def migrate_command(path: str) -> str:
    return f"penstock migrate --store {quote(f'sqlite:///{path}')}"


def _nearest_folder(path: str) -> str:
    folder = os.path.dirname(os.path.realpath(path))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


# The file system


def _file_system(folder: str) -> Finding:
    kind, options = mount_of(folder) or Mount("a file system that is not known here", frozenset())
    name = f"{folder} is on {kind}"
    if kind in NETWORK or kind.startswith("fuse."):
        return Finding(
            "file system", "error",
            f"{name}, a network or shared file system: SQLite's locks do not hold there and the store can be damaged",
            ELSEWHERE,
        )  # fmt: skip
    if hasattr(os, "statvfs") and os.statvfs(folder).f_flag & os.ST_RDONLY:
        return Finding("file system", "error", f"{name}, mounted read-only: no job can be stored", ELSEWHERE)
    if kind in IN_MEMORY:
        return Finding("file system", "warning", f"{name}, in memory: jobs do not survive a reboot", ELSEWHERE)
    if kind in CONTAINER:
        return Finding(
            "file system", "warning", f"{name}, the layer of a container: jobs are lost with the container",
            "mount a volume of a local disk and put the store there",
        )  # fmt: skip
    if options & UNSYNCED:
        return Finding(
            "file system", "warning", f"{name}, mounted with {', '.join(sorted(options & UNSYNCED))}: what was synced "
            "may still be in the disk's cache, and a power failure can lose jobs that were stored or damage the store",
            "mount it without this option, unless the cache of the disk has a battery",
        )  # fmt: skip
    return Finding("file system", "ok", name)


# Room


def _free_space(folder: str) -> Finding:
    free = shutil.disk_usage(folder).free
    said = f"{free / 2**20:,.0f} MiB free"
    if free >= FREE_BYTES_LOW:
        return Finding("disk space", "ok", said)
    level: Level = "error" if free < FREE_BYTES_MIN else "warning"
    return Finding(
        "disk space", level, f"only {said} on {folder}; enqueues and outcomes fail when it is full",
        "free space on this disk, or let retention keep less",
    )  # fmt: skip


def room_of(path: str) -> Room | None:
    """Of a store in this file; None if the disk does not say."""
    try:
        return Room(shutil.disk_usage(os.path.dirname(path)).free, os.stat(path).st_size)
    except OSError:
        return None


# Rights


def _rights(path: str) -> Iterator[Finding]:
    found = [*_folder_rights(_nearest_folder(path)), *_file_rights(path), *_lock_rights(path)]
    yield from found or [Finding("rights", "ok", f"the user {_user(_me())} may read and write here")]


def _folder_rights(folder: str) -> Iterator[Finding]:
    found = _stat(folder)
    if found is None:
        return
    if not os.access(folder, os.W_OK | os.X_OK):
        yield Finding(
            "rights", "error",
            f"the user {_user(_me())} may not write to the folder {folder}, where SQLite keeps its log",
            _give(folder, found, "u+wx"),
        )  # fmt: skip
    if found.st_mode & stat.S_IWOTH and not found.st_mode & stat.S_ISVTX:
        yield _open_to_all(folder, found)


def _file_rights(path: str) -> Iterator[Finding]:
    enterable = _enterable(_nearest_folder(path))
    for name in (path, f"{path}-wal", f"{path}-shm"):
        found = _stat(name)
        if found is None or not stat.S_ISREG(found.st_mode):
            continue
        # The log and its index come and go: one that has just gone is no trouble.
        if not os.access(name, os.R_OK | os.W_OK) and os.path.exists(name):
            yield Finding(
                "rights", "error", f"the user {_user(_me())} may not read and write {name}",
                _give(name, found, "u+rw"),
            )  # fmt: skip
        elif name == path:
            yield from _ownership(path, found)
        if found.st_mode & stat.S_IWOTH:
            yield _open_to_all(name, found)
        elif found.st_mode & stat.S_IROTH and enterable:
            yield Finding(
                "rights", "warning", f"{name} can be read by every user of this machine: payloads, results and errors",
                _close(name, found, "o-r"),
            )  # fmt: skip


def _enterable(folder: str) -> bool:
    """Whether users that are neither its owner nor in its group come that far."""
    found = _stat(folder)
    return found is None or bool(found.st_mode & stat.S_IXOTH)


def _ownership(path: str, found: os.stat_result) -> Iterator[Finding]:
    me, owner = _me(), found.st_uid
    shared = found.st_mode & stat.S_IWGRP and me != 0
    if me is not None and me != owner and not shared:
        yield Finding(
            "rights", "warning", f"{path} belongs to {_user(owner)}, and this is {_user(me)}: what one of them makes "
            "beside it may be closed to the other",
            f"run everything that uses the store as {_user(owner)}",
        )  # fmt: skip
    if found.st_nlink > 1:
        yield Finding(
            "rights", "error", f"{path} has {found.st_nlink} names (hard links): used under two of them it is damaged",
            f"keep one name; find the others with: find / -xdev -samefile {quote(path)}",
        )  # fmt: skip


def _lock_rights(path: str) -> Iterator[Finding]:
    lock = f"{path}-lock"
    # It is closed to those who may not write to the store, as it is to be: of them the store itself tells.
    closed = not os.access(lock, os.R_OK) and (os.access(path, os.W_OK) or not os.path.exists(path))
    if os.path.lexists(lock) and (os.path.islink(lock) or not os.path.isfile(lock) or closed):
        yield Finding(
            "lock file", "error",
            f"the user {_user(_me())} cannot open {lock}, through which processes take turns to write",
            f"stop what uses the store, then: rm -r {quote(lock)} (it is made again)",
        )  # fmt: skip
    store, found = _stat(path), _stat(lock)
    if store is None or found is None:
        return
    wanted = lock_mode(store.st_mode)
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO) & ~wanted and _enterable(_nearest_folder(path)):
        yield Finding(
            "lock file", "warning",
            f"{lock} can be opened by users who may not write to the store: any of them can stop all writes",
            f"chmod {wanted:o} {quote(lock)}",
        )  # fmt: skip


def _give(name: str, found: os.stat_result, rights: str) -> str:
    if found.st_uid == _me():
        return f"chmod {rights} {quote(name)}"
    return _let_in(found)


def _let_in(found: os.stat_result) -> str:
    """To give it to this user instead would close it to its owner."""
    return (
        f"run as {_user(found.st_uid)}, to whom it belongs, or share the store through a group (docs/sqlite.md, "
        "'Who may open it')"
    )


def _close(name: str, found: os.stat_result, rights: str) -> str:
    """What is open to everybody; one who comes in only by that needs another way first."""
    command = f"chmod {rights} {quote(name)}"
    me = _me()
    if me in (None, 0, found.st_uid) or found.st_gid in {os.getegid(), *os.getgroups()}:
        return command
    return f"{_let_in(found)}; then: {command}"


def _open_to_all(name: str, found: os.stat_result) -> Finding:
    return Finding(
        "rights", "warning", f"{name} can be written by every user of this machine", _close(name, found, "o-w")
    )


def _me() -> int | None:
    return os.geteuid() if hasattr(os, "geteuid") else None


def _stat(name: str) -> os.stat_result | None:
    try:
        return os.stat(name)
    except OSError:
        return None


def _user(number: int | None) -> str:
    if number is None:
        return "of this process"
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)
