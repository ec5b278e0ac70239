"""Which file is at a path, with and without the call that leaves its times alone, and when its folder is asked."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import types
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from penstock.domain.errors import StoreGone
from penstock.store.sqlite.connection import file as file_module, identity, opening as connection
from penstock.store.sqlite.connection.identity import (
    SECOND_NS,
    TICK_NS,
    TRUST_SECONDS,
    WHOLE_TICK_NS,
    Folder,
    Identity,
    file_identity,
)
from penstock.store.sqlite.store import SqliteStore
from tests.store.sqlite.conftest import enqueue


@pytest.fixture(params=["statx", "stat", "statx refused"])
def _by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "stat":
        monkeypatch.setattr(identity, "_statx", None)
    elif request.param == "statx refused":
        monkeypatch.setattr(identity, "_statx", lambda *_: -1)


@pytest.mark.usefixtures("_by")
def test_a_file_is_the_same_until_another_is_in_its_place(tmp_path: Path) -> None:
    path, other = tmp_path / "store.db", tmp_path / "copy.db"
    assert file_identity(os.fsencode(path)) is None
    path.write_text("one")
    first = file_identity(os.fsencode(path))
    path.write_text("two, and longer")
    (tmp_path / "link.db").hardlink_to(path)
    assert first is not None
    assert file_identity(os.fsencode(path)) == file_identity(os.fsencode(tmp_path / "link.db")) == first
    shutil.copy(path, other)
    other.replace(path)
    assert file_identity(os.fsencode(path)) not in (first, None)


def test_linux_is_asked_without_the_times_of_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """stat() asks for them, and then the next write and sync cost more."""
    monkeypatch.setattr(os, "stat", lambda *_: pytest.fail("asked by stat()"))
    assert file_identity(os.fsencode(tmp_path)) is not None


# The folder


def settle(folder: Path) -> None:
    """Until a change of the folder could not bear the same time as the one before."""
    probe = Path(tempfile.mkdtemp(dir=folder.parent))
    while True:
        probe.touch()
        if probe.stat().st_mtime_ns - folder.stat().st_ctime_ns > 2 * TICK_NS:
            return


def take_away(file: Path) -> None:
    file.rename(file.with_suffix(".away"))


def replace(file: Path) -> None:
    shutil.copy(file, file.with_suffix(".new"))
    file.with_suffix(".new").replace(file)


def restore_with_times(file: Path) -> None:
    """As tools do that bring the times back, also those of the folder."""
    times = file.parent.stat()
    replace(file)
    os.utime(file.parent, ns=(times.st_atime_ns, times.st_mtime_ns))


def swap_folder(file: Path) -> None:
    shutil.copytree(file.parent, file.parent.with_suffix(".new"))
    file.parent.rename(file.parent.with_suffix(".away"))
    file.parent.with_suffix(".new").rename(file.parent)


def remove_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


CHANGES = [take_away, replace, restore_with_times, swap_folder, remove_folder]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """In a folder of its own."""
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "store.db"
    file.touch()
    return file


@pytest.mark.parametrize("change", CHANGES)
def test_a_folder_is_not_trusted_when_anything_in_it_may_have_changed(
    file: Path, change: Callable[[Path], None]
) -> None:
    settle(file.parent)
    folder = Folder(os.fsencode(file.parent))
    folder.trust(folder.stamp())
    file.write_text("more")  # What is in a file is nothing to its folder.
    assert folder.is_trusted(folder.stamp())
    change(file)
    assert not folder.is_trusted(folder.stamp())


def test_a_folder_that_changed_this_moment_is_not_trusted(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next change could bear the same time; where times are whole seconds, for longer."""
    settle(file.parent)
    changed = file.parent.stat().st_ctime_ns
    folder = Folder(os.fsencode(file.parent))
    for after, trusted in [(-SECOND_NS, False), (0, False), (TICK_NS, False), (TICK_NS + 1, True)]:
        monkeypatch.setattr(time, "time_ns", lambda after=after: changed + after)
        assert (folder.stamp() is not None) is trusted
    whole = types.SimpleNamespace(st_ino=1, st_dev=1, st_ctime_ns=7 * SECOND_NS, st_mtime_ns=7 * SECOND_NS)
    monkeypatch.setattr(os, "stat", lambda path: whole)
    for after, trusted in [(TICK_NS + 1, False), (WHOLE_TICK_NS, False), (WHOLE_TICK_NS + 1, True)]:
        monkeypatch.setattr(time, "time_ns", lambda after=after: 7 * SECOND_NS + after)
        assert (folder.stamp() is not None) is trusted


def test_a_folder_is_not_trusted_for_ever(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(file.parent)
    folder = Folder(os.fsencode(file.parent))
    folder.trust(folder.stamp())
    later = time.monotonic() + TRUST_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert not folder.is_trusted(folder.stamp())


# The store


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_store_notices_what_is_done_to_each_of_its_files(
    file: Path, end: str, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "TRUST_SECONDS", 1e9)
    asked = _counting(monkeypatch)
    with closing(SqliteStore(str(file))) as store:
        enqueue(store)
        settle(file.parent)
        enqueue(store)
        asked.clear()
        enqueue(store)
        assert not asked, "one look at the folder is enough"
        change(file.with_name(file.name + end))
        with pytest.raises(StoreGone):
            enqueue(store)


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_store_behind_a_link_notices_too(tmp_path: Path, file: Path, end: str, link: str) -> None:
    if link == "file":
        (tmp_path / "link.db").symlink_to(file)
        path = tmp_path / "link.db"
    else:
        (tmp_path / "link").symlink_to(file.parent)
        path = tmp_path / "link" / file.name
    with closing(SqliteStore(str(path))) as store:
        enqueue(store)
        settle(file.parent)
        settle(tmp_path)
        enqueue(store)
        replace(file.with_name(file.name + end))
        with pytest.raises(StoreGone):
            enqueue(store)


@pytest.mark.parametrize("link", ["file", "folder"])
def test_a_link_that_leads_elsewhere_now_is_noticed(tmp_path: Path, file: Path, link: str) -> None:
    shutil.copytree(file.parent, tmp_path / "other")
    linked = tmp_path / "link.db" if link == "file" else tmp_path / "link"
    linked.symlink_to(file if link == "file" else file.parent)
    with closing(SqliteStore(str(linked if link == "file" else linked / file.name))) as store:
        enqueue(store)
        settle(file.parent)
        settle(tmp_path)
        enqueue(store)
        (tmp_path / "new").symlink_to(tmp_path / "other" / file.name if link == "file" else tmp_path / "other")
        (tmp_path / "new").replace(linked)
        with pytest.raises(StoreGone):
            enqueue(store)


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    asked: list[bytes] = []

    def file_identity_and_note(path: bytes) -> Identity | None:
        asked.append(path)
        return file_identity(path)

    monkeypatch.setattr(file_module, "file_identity", file_identity_and_note)
    return asked


# While it is being opened


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
@pytest.mark.parametrize("opened", [1, 2])
@pytest.mark.parametrize("change", CHANGES)
def test_a_store_that_is_changed_while_it_is_opened_is_not_used(
    file: Path, end: str, opened: int, change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the moment at which SQLite opens a file and the one at which it is remembered which one that was."""
    with closing(SqliteStore(str(file))) as store:
        enqueue(store)
        connect = connection.connect
        connections = 0

        def connect_and_change(*args: Any) -> apsw.Connection:
            nonlocal connections
            db = connect(*args)
            connections += 1
            if connections == opened:
                change(file.with_name(file.name + end))
            return db

        monkeypatch.setattr(connection, "connect", connect_and_change)
        with closing(SqliteStore(str(file))) as late, pytest.raises(StoreGone):
            enqueue(late)


def test_a_connection_to_another_file_is_not_used(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SqliteStore(str(file))) as store:
        enqueue(store)
        connect = connection.connect

        def connect_and_swap(*args: Any) -> apsw.Connection:
            db = connect(*args)
            swap_folder(file)
            return db

        monkeypatch.setattr(connection, "connect", connect_and_swap)
        with pytest.raises(StoreGone, match="while it was being opened"):
            store.transaction().__enter__()
