"""A commit whose outcome nobody knows: said as such, and safe to send again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from penstock import App
from penstock.domain.errors import CommitUncertain, EnqueueUncertain
from penstock.store.contract import EnqueueJobs
from penstock.store.sqlite.store import SqliteStore
from tests.store.sqlite.conftest import MakeStore, enqueue, integrity, new_job, stored_ids
from tests.store.sqlite.disk import Disk


@pytest.fixture
def store(make_store: MakeStore, disk: Disk) -> SqliteStore:
    store = make_store(vfs=disk.name)
    enqueue(store)
    return store


def test_an_unknown_outcome_is_said_and_sending_again_makes_one_job(store: SqliteStore, disk: Disk) -> None:
    job = new_job()
    disk.failing_syncs = 1
    with pytest.raises(CommitUncertain, match="not known whether this was stored"):
        enqueue(store, job)
    enqueue(store, job)
    assert sorted(stored_ids(store)).count(job.id) == 1
    assert len(stored_ids(store)) == 2
    assert integrity(Path(store.path)) == "ok"


@pytest.mark.parametrize("face", ["enqueue", "aenqueue"])
def test_the_client_names_the_ids(store: SqliteStore, disk: Disk, face: str) -> None:
    app = App(store)

    @app.job
    def greet(name: str) -> None: ...

    def send(job_id: str | None = None) -> str:
        if face == "enqueue":
            return greet.using(id=job_id).enqueue("you").id
        return asyncio.run(greet.using(id=job_id).aenqueue("you")).id

    disk.failing_syncs = 1
    with pytest.raises(EnqueueUncertain) as caught:
        send()
    (job_id,) = caught.value.ids
    assert job_id in str(caught.value)
    assert send(job_id) == job_id
    assert sorted(stored_ids(store)).count(job_id) == 1


def test_every_caller_of_the_group_is_told(store: SqliteStore, disk: Disk) -> None:
    jobs = [new_job() for _ in range(10)]

    async def main() -> list[object]:
        return await asyncio.gather(
            *(store.enqueue_jobs(EnqueueJobs([job])) for job in jobs), return_exceptions=True
        )  # fmt: skip

    disk.failing_syncs = 10
    answers = asyncio.run(main())
    disk.failing_syncs = 0
    assert all(isinstance(answer, CommitUncertain) for answer in answers)
    assert all(new.id == job.id for job, (new,) in zip(jobs, (enqueue(store, job) for job in jobs), strict=True))
    assert len(stored_ids(store)) == 11


def test_a_callers_transaction_is_told_too(store: SqliteStore, disk: Disk) -> None:
    def commit() -> None:
        with store.transaction() as tx:
            store.enqueue_jobs(EnqueueJobs([new_job()], tx)).wait()
            disk.failing_syncs = 1

    with pytest.raises(CommitUncertain):
        commit()
    enqueue(store)
