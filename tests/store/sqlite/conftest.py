"""Stores in real files, a disk that can be watched and broken, and writers in other processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from penstock.store.contract import Enqueued, EnqueueJobs, JobSpec, ListJobs, NewJob
from penstock.store.sqlite.store import SqliteStore
from penstock.system.clock import SystemClock
from penstock.system.ids import IdSource
from tests.store.sqlite.disk import Disk

MakeStore = Callable[..., SqliteStore]
OutsideWriter = Callable[[], AbstractContextManager[Callable[[], None]]]

_ids = IdSource(SystemClock())

HOLD_THE_LOCK = """
import sys, apsw
db = apsw.Connection(sys.argv[1])
db.set_busy_timeout(10_000)
db.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
db.execute("ROLLBACK")
"""


def new_job(**fields: Any) -> NewJob:
    job_id, payload = fields.pop("id", None) or _ids.next_id(), fields.pop("payload", "{}")
    return NewJob(job_id, payload, JobSpec(**{"type": "task", **fields}))


def enqueue(store: SqliteStore, *jobs: NewJob) -> list[Enqueued]:
    return store.enqueue_jobs(EnqueueJobs(jobs or (new_job(),))).wait()


def stored_ids(store: SqliteStore) -> set[str]:
    return {job.id for job in store.list_jobs(ListJobs(limit=100_000)).wait()}


def integrity(path: Path) -> object:
    """What SQLite itself says of the file."""
    db = apsw.Connection(str(path))
    try:
        return db.execute("PRAGMA integrity_check").get
    finally:
        db.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "jobs.db"


@pytest.fixture
def make_store(path: Path) -> Iterator[MakeStore]:
    """Makes stores on `path` that are closed at the end, also when the test fails."""
    made: list[SqliteStore] = []

    def make(**options: Any) -> SqliteStore:
        made.append(SqliteStore(str(path), **options))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def store(make_store: MakeStore) -> SqliteStore:
    return make_store()


@pytest.fixture
def disk() -> Iterator[Disk]:
    disk = Disk()
    yield disk
    disk.unregister()


@pytest.fixture
def outside_writer(path: Path) -> OutsideWriter:
    """Another process that holds the write lock inside the block, or until the given function is called."""

    @contextmanager
    def hold() -> Iterator[Callable[[], None]]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD_THE_LOCK, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None

        def release() -> None:
            process.communicate("\n", timeout=30)

        try:
            assert process.stdout.readline() == "held\n"
            yield release
            if process.poll() is None:
                release()
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()

    return hold
