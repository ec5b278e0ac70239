"""A store in trouble under a running worker: it rides out what passes and ends, loudly, on what does not."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import apsw
import pytest

from penstock import App, State
from tests.e2e.processes import Processes, counts, until

pytestmark = pytest.mark.turns

QUICK_RECOVERY = {"heartbeat_interval": 0.2, "recovery_interval": 0.1, "leader_lease": 0.3}
STALE_SECONDS = 0.6

HANDLERS = """
@app.job(attempts=1)
async def gated(gate: str) -> str:
    say("begun")
    while not os.path.exists(gate):
        await asyncio.sleep(0.01)
    return "through"

@app.job(attempts=1)
async def add(number: int) -> int:
    return number + 1
"""


@pytest.fixture
def address(tmp_path: Path) -> str:
    """What can happen to a file. What can happen to a server is in tests/store/postgres."""
    return f"sqlite:///{tmp_path}/jobs.db"


COUNT = """
other = App(f"sqlite:///{settings['path']}")
say("jobs:", sum(count.jobs for count in other.store.count_jobs().wait()))
"""


def test_workers_ride_out_an_outside_writer_and_recover_nobody(
    app: App, processes: Processes, gate: str, tmp_path: Path
) -> None:
    workers = [processes.worker(HANDLERS, **QUICK_RECOVERY, concurrency=1) for _ in range(2)]
    running = [app.enqueue("gated", {"gate": gate}) for _ in range(2)]
    for worker in workers:
        worker.wait_for("begun")
    waiting = [app.enqueue("add", {"number": number}) for number in range(50)]
    outside = apsw.Connection(str(tmp_path / "jobs.db"))
    outside.set_busy_timeout(30_000)  # The workers write too.
    try:
        outside.execute("BEGIN IMMEDIATE")
        held_since = time.monotonic()
        open(gate, "w").close()  # Outcomes are now ready and cannot be stored.
        until(lambda: time.monotonic() - held_since > 3 * STALE_SECONDS, "the lock is held beyond staleness")
        outside.execute("ROLLBACK")
    finally:
        outside.close()
    assert [job.result(timeout=30) for job in running] == ["through"] * 2
    assert [job.result(timeout=30) for job in waiting] == [number + 1 for number in range(50)]
    assert {job.read().crashes for job in running + waiting} == {0}
    assert {row.status for row in app.store.list_workers().wait()} == {"active"}
    for worker in workers:
        worker.stop()


def test_a_deleted_store_ends_the_worker_with_the_reason(app: App, processes: Processes, tmp_path: Path) -> None:
    worker = processes.worker(HANDLERS)
    assert app.enqueue("add", {"number": 1}).result(timeout=30) == 2
    app.close()
    (tmp_path / "jobs.db").unlink()
    assert worker.wait() == 1
    message = worker.wait_for("errors.StoreGone:")
    assert "the file was deleted or replaced while it was open" in message
    assert str(tmp_path / "jobs.db") in message


def test_a_replaced_store_ends_the_worker_and_the_new_file_is_not_touched(
    app: App, processes: Processes, gate: str, tmp_path: Path
) -> None:
    worker = processes.worker(HANDLERS)
    app.enqueue("gated", {"gate": gate})
    worker.wait_for("begun")
    app.close()
    for name in ("jobs.db", "jobs.db-wal", "jobs.db-shm"):
        (tmp_path / name).rename(tmp_path / name.replace("jobs", "moved"))
    successor = App(f"sqlite:///{tmp_path}/jobs.db")
    successor.enqueue("add", {"number": 1})
    open(gate, "w").close()
    assert worker.wait() == 1
    worker.wait_for("errors.StoreGone:")
    for name in ("jobs", "moved"):
        # Another process, because the successor still holds its files open even if someone deleted them.
        reader = processes.script(COUNT, path=str(tmp_path / f"{name}.db"))
        assert reader.wait() == 0
        reader.wait_for("jobs: 1")
    successor.close()


def copy(source: Path, target: Path) -> None:
    """All of one database into another, with SQLite's own means."""
    one, other = apsw.Connection(str(source)), apsw.Connection(str(target))
    try:
        other.set_busy_timeout(30_000)
        with other.backup("main", one, "main") as copying:
            copying.step()
    finally:
        one.close()
        other.close()


def test_a_backup_that_is_restored_under_live_processes(
    app: App, processes: Processes, gate: str, tmp_path: Path
) -> None:
    """The job that ran at the backup runs again, though its worker lives; no job gets another's handler."""
    worker = processes.worker(HANDLERS.replace("attempts=1", "attempts=3"), **QUICK_RECOVERY)
    running = app.enqueue("gated", {"gate": gate})
    worker.wait_for("begun")
    until(lambda: running.state() == "running", "the start is stored")
    copy(tmp_path / "jobs.db", tmp_path / "backup.db")
    (worker_then,) = app.store.list_workers().wait()
    until(lambda: app.store.list_workers().wait()[0].heartbeat_at > worker_then.heartbeat_at, "the worker is heard")
    other = App(f"sqlite:///{tmp_path}/backup.db")
    other.enqueue("unknown", {})  # In the backup the next lane is another's.
    other.close()
    open(gate, "w").close()
    assert running.result(timeout=30) == "through"
    assert app.enqueue("add", {"number": 1}).result(timeout=30) == 2
    copy(tmp_path / "backup.db", tmp_path / "jobs.db")
    assert app.enqueue("add", {"number": 2}).result(timeout=30) == 3
    assert running.result(timeout=30) == "through"
    worker.wait_for("begun", count=2)
    assert counts(app) == {State.COMPLETED: 2, State.PENDING: 1}
    worker.stop()


def test_a_backup_that_is_copied_over_the_file_ends_the_worker(app: App, processes: Processes, tmp_path: Path) -> None:
    worker = processes.worker(HANDLERS)
    assert app.enqueue("add", {"number": 1}).result(timeout=30) == 2
    copy(tmp_path / "jobs.db", tmp_path / "backup.db")
    app.enqueue("unknown", {})
    app.close()
    shutil.copyfile(tmp_path / "backup.db", tmp_path / "jobs.db")
    for name in ("jobs.db-wal", "jobs.db-shm"):
        (tmp_path / name).unlink()
    assert worker.wait() == 1
    worker.wait_for("was deleted or replaced while the store was open")
    again = processes.script(COUNT, path=str(tmp_path / "jobs.db"))
    assert again.wait() == 0
    again.wait_for("jobs: 1")
