"""What a returned call has put on the disk, and how many calls share one sync."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.domain.errors import UnknownJob
from penstock.store.contract import CancelJob, EnqueueJobs
from tests.store.sqlite.conftest import MakeStore, OutsideWriter, enqueue, new_job, stored_ids
from tests.store.sqlite.disk import Disk


def test_an_enqueue_is_synced_before_it_returns(make_store: MakeStore, disk: Disk) -> None:
    store = make_store(vfs=disk.name)
    enqueue(store)
    for _ in range(5):
        before = disk.wal_syncs
        enqueue(store)
        assert disk.wal_syncs > before
    assert "survives power loss" in store.info.durability


def test_synchronous_normal_does_not_sync_each_commit(make_store: MakeStore, disk: Disk) -> None:
    store = make_store(vfs=disk.name, synchronous="normal")
    enqueue(store)
    before = disk.wal_syncs
    for _ in range(5):
        enqueue(store)
    assert disk.wal_syncs == before
    assert "power loss may drop" in store.info.durability


def test_a_callers_transaction_is_synced_too(make_store: MakeStore, disk: Disk) -> None:
    store = make_store(vfs=disk.name)
    enqueue(store)
    before = disk.wal_syncs
    with store.transaction() as tx:
        store.enqueue_jobs(EnqueueJobs([new_job()], tx)).wait()
    assert disk.wal_syncs > before


def test_calls_that_wait_together_share_one_sync(
    make_store: MakeStore, disk: Disk, outside_writer: OutsideWriter
) -> None:
    store = make_store(vfs=disk.name)
    enqueue(store)
    jobs = [new_job() for _ in range(200)]

    async def enqueue_one(number: int) -> None:
        await store.enqueue_jobs(EnqueueJobs([jobs[number]]))

    async def main() -> None:
        with outside_writer() as release:
            before = disk.wal_syncs
            tasks = [asyncio.create_task(enqueue_one(number)) for number in range(200)]
            await asyncio.sleep(0)  # All are handed in now; the writer holds the first few and waits for the lock.
            await asyncio.to_thread(release)
            await asyncio.gather(*tasks)
        # The group that was waiting for the lock, and one group of all the rest.
        assert 1 <= disk.wal_syncs - before <= 2

    asyncio.run(main())
    assert {job.id for job in jobs} <= stored_ids(store)


def test_one_failure_in_a_group_does_not_spoil_the_others(make_store: MakeStore, outside_writer: OutsideWriter) -> None:
    store = make_store()
    enqueue(store)
    jobs = [new_job() for _ in range(20)]
    bad = [new_job(at=2**80), new_job(payload="\ud800")]

    async def enqueue_one(number: int) -> object:
        return await store.enqueue_jobs(EnqueueJobs([[*jobs, *bad][number]]))

    async def cancel() -> object:
        return await store.cancel_job(CancelJob("nobody"))

    async def main() -> list[object]:
        with outside_writer():
            tasks = [asyncio.create_task(enqueue_one(number)) for number in range(22)]
            tasks.append(asyncio.create_task(cancel()))
            await asyncio.sleep(0)
        return await asyncio.gather(*tasks, return_exceptions=True)

    answers = asyncio.run(main())
    assert not any(isinstance(answer, BaseException) for answer in answers[:20])
    assert isinstance(answers[20], OverflowError)
    assert isinstance(answers[21], (UnicodeError, ValueError))
    assert isinstance(answers[22], UnknownJob)
    assert {job.id for job in jobs} < stored_ids(store)
    assert not {job.id for job in bad} & stored_ids(store)


def test_what_was_committed_survives_a_killed_process(make_store: MakeStore, path: Path) -> None:
    script = """
import os, signal, sys
from penstock.store.contract import EnqueueJobs, JobSpec, NewJob
from penstock.store.sqlite.store import SqliteStore
store = SqliteStore(sys.argv[1])
for number in range(50):
    store.enqueue_jobs(EnqueueJobs([NewJob(f"job{number}", "{}", JobSpec(type="t"))])).wait()
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False, timeout=60)
    assert done.returncode == -9
    assert stored_ids(make_store()) == {f"job{number}" for number in range(50)}


@pytest.mark.parametrize("setting", ["full", "normal"])
def test_a_store_is_in_wal_mode(make_store: MakeStore, setting: str) -> None:
    with make_store(synchronous=setting).transaction() as tx:
        assert tx.execute("PRAGMA journal_mode") == [("wal",)]
        assert tx.execute("PRAGMA synchronous") == [(2 if setting == "full" else 1,)]
