"""What the engine finds out about its file: each trouble is made, and must be named with its fix."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import apsw
import msgspec
import pytest

from penstock.store import disk
from penstock.store.contract import CheckStore, Finding
from penstock.store.sqlite import check
from penstock.store.sqlite.connection.statements import migrations
from tests.store.sqlite.conftest import MakeStore, enqueue, new_job
from tests.store.sqlite.test_migrations import change

LATEST = migrations()[-1][0]
DISK = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"


@pytest.fixture(autouse=True)
def on_a_local_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the tests run."""
    monkeypatch.setattr(disk, "read_mounts", lambda: DISK)


@pytest.fixture
def made(make_store: MakeStore) -> None:
    """A sound store with a job in it."""
    store = make_store()
    enqueue(store)
    store.close()


def find(path: Path, name: str, deep: bool = False) -> list[Finding]:
    return [finding for finding in check.check_store(str(path), "durable", None, deep) if finding.name == name]


def only(path: Path, name: str, deep: bool = False) -> Finding:
    (finding,) = find(path, name, deep)
    assert (finding.fix is None) == (finding.level == "ok")
    return finding


def problems(path: Path) -> list[str]:
    copies = "sqlite copies"  # What the test runner itself has loaded says nothing of the store.
    found = check.check_store(str(path), "durable", None, False)
    return [finding.name for finding in found if finding.level != "ok" and finding.name != copies]


def test_a_sound_store_is_sound(path: Path, made: None) -> None:
    assert problems(path) == []
    assert f"version {LATEST}" in only(path, "schema").message
    assert only(path, "durability").message == "durable"


def test_looking_changes_nothing(path: Path, made: None) -> None:
    before = path.read_bytes()
    check.check_store(str(path), "durable", None, True)
    assert path.read_bytes() == before


def test_looking_drops_no_lock_of_this_process(path: Path, make_store: MakeStore) -> None:
    store = make_store()
    try_to_write = "import apsw, sys; apsw.Connection(sys.argv[1]).execute('BEGIN IMMEDIATE')"
    with store.transaction() as tx:
        tx.execute("CREATE TABLE mine (x)")
        store.check_store(CheckStore(deep=True)).wait()
        other = subprocess.run(
            [sys.executable, "-c", try_to_write, str(path)], capture_output=True, text=True, check=False, timeout=30
        )
    assert "BusyError" in other.stderr


# What is there


def test_nothing_there(path: Path) -> None:
    finding = only(path, "store")
    assert (finding.level, str(path) in finding.message) == ("error", True)
    assert f"penstock migrate --store sqlite:///{path}" in (finding.fix or "")
    assert list(path.parent.iterdir()) == []


def test_no_folder(tmp_path: Path) -> None:
    finding = only(tmp_path / "a" / "b" / "jobs.db", "store")
    assert f"mkdir -p {tmp_path}/a/b" in (finding.fix or "")


def test_a_folder_instead_of_a_file(tmp_path: Path) -> None:
    assert "is a folder" in only(tmp_path, "store").message


def test_a_link_that_leads_nowhere(path: Path) -> None:
    path.symlink_to(path.with_name("gone.db"))
    assert "a link that leads to none" in only(path, "store").message


def test_a_command_that_can_be_pasted(tmp_path: Path) -> None:
    fix = only(tmp_path / "my jobs.db", "store").fix
    assert (fix or "").endswith(f"penstock migrate --store 'sqlite:///{tmp_path}/my jobs.db'")


def test_a_file_that_is_no_database(path: Path) -> None:
    path.write_text("hello " * 1000)
    finding = only(path, "store")
    assert (finding.level, "not an SQLite database" in finding.message) == ("error", True)
    assert "name another file" in (finding.fix or "")


def test_a_database_of_others(path: Path) -> None:
    change(path, "CREATE TABLE mine (x)")
    finding = only(path, "schema")
    assert (finding.level, "without a store" in finding.message) == ("error", True)


def test_an_older_schema_is_a_warning(path: Path, made: None) -> None:
    change(path, "UPDATE penstock_meta SET value = 1")
    finding = only(path, "schema")
    assert (finding.level, "version 1" in finding.message) == ("warning", True)
    assert "penstock migrate" in (finding.fix or "")


def test_a_newer_schema_is_an_error(path: Path, made: None) -> None:
    change(path, f"UPDATE penstock_meta SET value = {LATEST + 1}")
    finding = only(path, "store")
    assert (finding.level, finding.fix) == ("error", "upgrade penstock")


@pytest.mark.parametrize("deep", [False, True])
def test_damage(path: Path, make_store: MakeStore, deep: bool) -> None:
    store = make_store()
    enqueue(store, *(new_job(payload=f'"{"x" * 3000}"') for _ in range(50)))
    store.close()
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 9000)
    finding = only(path, "integrity", deep)
    assert (finding.level, "damaged" in finding.message) == ("error", True)
    assert "restore a backup" in (finding.fix or "")


def test_a_large_file_is_only_read_through_when_asked(path: Path, made: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "QUICK_BYTES_MAX", 1)
    assert "--deep" in only(path, "integrity").message
    assert only(path, "integrity", deep=True).message == "every page checked"


def test_another_journal_mode(path: Path, made: None) -> None:
    """It can only be set while nothing uses the store, and is set again before anything does."""
    change(path, "PRAGMA journal_mode = DELETE")
    finding = only(path, "durability")
    assert (finding.level, "not in use" in finding.message) == ("ok", True)


def test_a_backup_that_was_put_where_the_store_was_is_sound(path: Path, made: None) -> None:
    """The lock file of the store before it may still be there: nobody blames a program for that."""
    copy = path.with_name("backup.db")
    change(path, f"VACUUM INTO '{copy}'")
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    copy.chmod(0o600)
    copy.rename(path)
    assert Path(f"{path}-lock").exists()
    assert problems(path) == []


def test_a_backup_that_nobody_uses_is_sound(path: Path, made: None) -> None:
    copy = path.with_name("backup.db")
    change(path, f"VACUUM INTO '{copy}'")
    copy.chmod(0o600)
    assert problems(copy) == []
    assert "not in use" in only(copy, "durability").message


def test_a_log_that_has_grown(path: Path, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch) -> None:
    enqueue(make_store())
    assert only(path, "write-ahead log").level == "ok"
    monkeypatch.setattr(check, "WAL_BYTES_WARN", 0)
    finding = only(path, "write-ahead log")
    assert (finding.level, f"{path}-wal" in finding.message) == ("warning", True)


def test_a_reader_that_never_ends_lets_the_log_grow(
    path: Path, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "WAL_BYTES_WARN", 25 * 2**20)
    store = make_store()
    enqueue(store)
    large = [new_job(payload=f'"{"x" * 100_000}"') for _ in range(20)]

    def fill() -> None:
        """With 30 MB, about twice what the log holds before it is used again."""
        for _ in range(15):
            enqueue(store, *(msgspec.structs.replace(job, id=new_job().id) for job in large))

    fill()
    assert only(path, "write-ahead log").level == "ok"
    reader = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM penstock_job").fetchall()
        fill()
        finding = only(path, "write-ahead log")
    finally:
        reader.close()
    assert (finding.level, "stays open" in finding.message) == ("warning", True)


# The library


def test_an_unsafe_library_is_an_error_and_opens_nothing(
    path: Path, made: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    finding = only(path, "sqlite")
    assert (finding.level, "3.40.1" in finding.message) == ("error", True)
    assert find(path, "schema") == []


def loaded(first: str) -> str:
    script = f"{first}\nfrom penstock.store.sqlite.check import other_copies\nprint(other_copies())"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=30).stdout


def test_another_copy_of_sqlite_in_the_process_is_named() -> None:
    assert loaded("") == "[]\n"
    assert "Python's sqlite3 module (SQLite 3." in loaded("import sqlite3")


def test_another_copy_is_a_warning_that_names_the_way_to_join(
    path: Path, made: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "other_copies", lambda: ["libsqlite3.so.0"])
    finding = only(path, "sqlite copies")
    assert (finding.level, "libsqlite3.so.0" in finding.message) == ("warning", True)
    assert "app.transaction()" in (finding.fix or "")


def test_the_library_of_the_system_is_one_copy_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "_sqlite3", SimpleNamespace(sqlite_version=apsw.sqlite_lib_version()))
    assert check.other_copies(bundled=False) == []
    monkeypatch.setitem(sys.modules, "_sqlite3", SimpleNamespace(sqlite_version="3.1"))
    assert "Python's sqlite3 module (SQLite 3.1)" in check.other_copies(bundled=False)


# The place


@pytest.mark.parametrize(
    ("kind", "level", "word"),
    [
        ("ext4", "ok", "ext4"),
        ("xfs", "ok", "xfs"),
        ("fuseblk", "ok", "fuseblk"),
        ("nfs4", "error", "network"),
        ("cifs", "error", "network"),
        ("9p", "error", "network"),
        ("fuse.sshfs", "error", "network"),
        ("tmpfs", "warning", "reboot"),
        ("overlay", "warning", "container"),
    ],
)
def test_file_systems(
    path: Path, made: None, monkeypatch: pytest.MonkeyPatch, kind: str, level: str, word: str
) -> None:
    monkeypatch.setattr(disk, "read_mounts", lambda: DISK.replace("ext4", kind))
    finding = only(path, "file system")
    assert (finding.level, word in finding.message, kind in finding.message) == (level, True, True)


@pytest.mark.parametrize("option", ["nobarrier", "barrier=0"])
def test_a_disk_that_is_told_not_to_wait(path: Path, made: None, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setattr(disk, "read_mounts", lambda: DISK.replace("/dev/vda rw", f"/dev/vda rw,{option}"))
    finding = only(path, "file system")
    assert (finding.level, f"mounted with {option}" in finding.message) == ("warning", True)


def test_without_a_table_of_mounts_the_file_system_is_not_known(
    path: Path, made: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "read_mounts", lambda: "")
    assert "not known" in only(path, "file system").message


def test_a_file_system_that_cannot_be_written(path: Path, made: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda folder: SimpleNamespace(f_flag=os.ST_RDONLY))
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=2**40))
    finding = only(path, "file system")
    assert (finding.level, "read-only" in finding.message) == ("error", True)


@pytest.mark.parametrize(("free", "level"), [(2**33, "ok"), (2**28, "warning"), (2**20, "error")])
def test_free_space(path: Path, made: None, monkeypatch: pytest.MonkeyPatch, free: int, level: str) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    assert only(path, "disk space").level == level


@pytest.mark.parametrize("ending", ["", "-wal", "-shm"])
def test_a_file_that_this_user_may_not_write(
    path: Path, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    enqueue(make_store())
    closed = f"{path}{ending}"
    monkeypatch.setattr(os, "access", lambda name, mode: name != closed)
    finding = only(path, "rights")
    assert (finding.level, closed in finding.message) == ("error", True)


def test_a_folder_that_this_user_may_not_write(path: Path, made: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda name, mode: not (mode & os.W_OK and name == str(path.parent)))
    finding = only(path, "rights")
    assert (finding.level, f"folder {path.parent}" in finding.message) == ("error", True)


def test_a_file_of_another_user(path: Path, made: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 54321)
    path.chmod(0o644)
    finding = only(path, "rights")
    assert (finding.level, "54321" in finding.message) == ("warning", True)
    path.chmod(0o664)
    assert only(path, "rights").level == "ok"


@pytest.mark.parametrize("which", ["file", "folder"])
def test_what_every_user_can_write(path: Path, made: None, which: str) -> None:
    open_to_all = path if which == "file" else path.parent
    open_to_all.chmod(0o777)
    finding = only(path, "rights")
    assert (finding.level, finding.fix) == ("warning", f"chmod o-w {open_to_all}")


def test_a_shared_folder_where_files_stay_their_owners_is_sound(path: Path, made: None) -> None:
    path.parent.chmod(0o1777)
    assert only(path, "rights").level == "ok"


def test_a_second_name_of_the_file(path: Path, made: None) -> None:
    path.with_name("second.db").hardlink_to(path)
    finding = only(path, "rights")
    assert (finding.level, "hard links" in finding.message) == ("error", True)


def test_a_lock_file_that_is_none(path: Path, made: None) -> None:
    lock = path.with_name(f"{path.name}-lock")
    lock.unlink()
    lock.mkdir()
    finding = only(path, "lock file")
    assert (finding.level, str(lock) in finding.message) == ("error", True)
