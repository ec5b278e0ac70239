"""Full disks, files that vanish, and other programs that hold the lock: said plainly, and over when they are over."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from penstock.domain.errors import StoreBusy, StoreFull, StoreGone
from penstock.store.contract import EnqueueJobs
from penstock.store.sqlite.connection import errors
from penstock.store.sqlite.connection.file import OpenFile
from penstock.store.sqlite.connection.tx import Tx
from penstock.store.sqlite.store import SqliteStore
from tests.store.sqlite.conftest import MakeStore, OutsideWriter, enqueue, integrity, new_job, stored_ids
from tests.store.sqlite.disk import Disk

# Full


def test_a_full_disk(make_store: MakeStore, disk: Disk, path: Path) -> None:
    store = make_store(vfs=disk.name)
    ((kept,), lost) = enqueue(store), new_job()
    disk.full = True
    for _ in range(3):
        with pytest.raises(StoreFull, match="free space"):
            enqueue(store, lost)
    assert stored_ids(store) == {kept.id}
    disk.full = False
    assert enqueue(store, lost)[0].created
    assert stored_ids(store) == {kept.id, lost.id}
    assert integrity(path) == "ok"


def test_a_full_disk_at_the_commit_of_a_transaction(make_store: MakeStore, disk: Disk) -> None:
    store = make_store(vfs=disk.name)
    enqueue(store)

    def commit() -> None:
        with store.transaction() as tx:
            store.enqueue_jobs(EnqueueJobs([new_job()], tx)).wait()
            disk.full = True

    with pytest.raises(StoreFull):
        commit()
    disk.full = False
    enqueue(store)
    assert len(stored_ids(store)) == 2


def test_a_size_limit(store: SqliteStore) -> None:
    enqueue(store)
    writer = store._opened()[0].db
    pages = writer.execute("PRAGMA page_count").get
    writer.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFull):
        enqueue(store, *(new_job(payload="x" * 1000) for _ in range(100)))
    assert len(stored_ids(store)) == 1
    writer.execute("PRAGMA max_page_count = 1000000")
    enqueue(store, *(new_job(payload="x" * 1000) for _ in range(100)))
    assert len(stored_ids(store)) == 101


# Gone


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_gone(store: SqliteStore, path: Path, replaced: bool) -> None:
    enqueue(store)
    path.rename(path.with_suffix(".away"))
    if replaced:
        path.write_bytes(path.with_suffix(".away").read_bytes())
    for use in (lambda: enqueue(store), lambda: stored_ids(store), store.version, lambda: begin(store)):
        with pytest.raises(StoreGone, match="deleted or replaced"):
            use()
    os.replace(path.with_suffix(".away"), path)
    enqueue(store)
    assert len(stored_ids(store)) == 2


def begin(store: SqliteStore) -> None:
    with store.transaction():
        raise AssertionError("a transaction began on a file that is gone")


def test_a_file_that_goes_during_a_transaction(store: SqliteStore, path: Path) -> None:
    enqueue(store)

    def commit() -> None:
        with store.transaction() as tx:
            store.enqueue_jobs(EnqueueJobs([new_job()], tx)).wait()
            path.rename(path.with_suffix(".away"))

    with pytest.raises(StoreGone):
        commit()
    os.replace(path.with_suffix(".away"), path)
    assert len(stored_ids(store)) == 1


# Busy


def test_another_program_holds_the_lock_for_too_long(
    store: SqliteStore, outside_writer: OutsideWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    enqueue(store)
    monkeypatch.setattr(errors, "BUSY_SECONDS", 0.05)
    with outside_writer():
        with pytest.raises(StoreBusy, match="end its transaction"):
            enqueue(store)
        with pytest.raises(StoreBusy):
            begin(store)
        assert len(stored_ids(store)) == 1
    enqueue(store)
    assert len(stored_ids(store)) == 2


def test_all_who_wait_are_told_at_once(
    store: SqliteStore, outside_writer: OutsideWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    enqueue(store)
    begins: list[OpenFile] = []
    begin_one = OpenFile.new_tx

    def counted(file: OpenFile, db: apsw.Connection) -> Tx:
        begins.append(file)
        return begin_one(file, db)

    monkeypatch.setattr(OpenFile, "new_tx", counted)
    monkeypatch.setattr(errors, "BUSY_SECONDS", 0.05)

    async def enqueue_one() -> object:
        return await store.enqueue_jobs(EnqueueJobs([new_job()]))

    async def main() -> list[object]:
        return await asyncio.gather(*(enqueue_one() for _ in range(50)), return_exceptions=True)

    with outside_writer():
        answers = asyncio.run(main())
    assert all(isinstance(answer, StoreBusy) for answer in answers)
    # The group that came first and one group of all the rest: nobody waits once per caller.
    assert len(begins) <= 2


@contextmanager
def held_by_a_thread(store: SqliteStore) -> Iterator[None]:
    """Somebody else's transaction is open while the block runs."""
    inside, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with store.transaction():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert inside.wait(10)
        yield
    finally:
        leave.set()
        thread.join()


def test_another_store_of_ours_holds_a_transaction(
    store: SqliteStore, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_store()
    enqueue(store)
    with held_by_a_thread(other):
        with monkeypatch.context() as patched:
            patched.setattr(errors, "BUSY_SECONDS", 0.05)
            for _ in range(2):
                with pytest.raises(StoreBusy):
                    enqueue(store)
        waiting = threading.Thread(target=enqueue, args=(store,))
        waiting.start()
    waiting.join(30)
    enqueue(other)
    enqueue(store)
    assert len(stored_ids(store)) == 4


def test_a_store_that_gave_up_waiting_can_be_closed(
    store: SqliteStore, make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_store()
    enqueue(store)
    with held_by_a_thread(other):
        monkeypatch.setattr(errors, "BUSY_SECONDS", 0.05)
        with pytest.raises(StoreBusy):
            enqueue(store)
        store.close()
    monkeypatch.undo()
    for _ in range(3):
        enqueue(other)
    assert len(stored_ids(other)) == 4


def test_patience_with_another_program(store: SqliteStore, outside_writer: OutsideWriter) -> None:
    enqueue(store)
    answers: list[object] = []
    waiting = threading.Thread(target=lambda: answers.append(enqueue(store)))
    with outside_writer() as release:
        waiting.start()
        assert len(stored_ids(store)) == 1
        assert answers == []
        release()
        waiting.join(30)
    assert len(answers) == 1
    assert len(stored_ids(store)) == 2
