"""What a process has learned of the file and is then undone: by a savepoint, a rollback, or the restore of a backup.

A backup is restored with SQLite's own means, into the file, while handles to the store live on: as other processes do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.domain.errors import NotAStore, StoreGone, StoreVersionError
from penstock.domain.job import State
from penstock.store.contract import EnqueueJobs
from penstock.store.sqlite import check
from penstock.store.sqlite.connection import opening as connection
from penstock.store.sqlite.connection.statements import migrations
from penstock.store.sqlite.store import SqliteStore
from tests.contract.clock import FakeClock
from tests.contract.engines import copy
from tests.contract.world import World
from tests.store.sqlite.conftest import MakeStore, integrity
from tests.store.sqlite.test_migrations import change

OpenWorld = Callable[[], World]


@pytest.fixture
def open_world(make_store: MakeStore) -> OpenWorld:
    clock = FakeClock()
    return lambda: World(make_store(clock=clock), clock)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup.db"


def types_of(world: World, *ids: str) -> list[str]:
    return [world.read(job_id).type for job_id in ids]


# Lanes


def test_a_lane_of_a_savepoint_that_was_rolled_back_is_forgotten(open_world: OpenWorld) -> None:
    world, other = open_world(), open_world()
    world.add(type="known")
    with world.store.transaction() as tx:
        tx.execute("SAVEPOINT mine")
        world.store.enqueue_jobs(EnqueueJobs([world.new_job(type="invoice")], tx)).wait()
        tx.execute("ROLLBACK TO mine")
        inside = world.new_job(type="invoice")
        world.store.enqueue_jobs(EnqueueJobs([inside], tx)).wait()
        tx.execute("ROLLBACK TO mine")
    refund = other.add(type="refund")
    invoice = world.add(type="invoice")
    assert types_of(other, refund, invoice) == ["refund", "invoice"]
    session = other.register(types=("refund",))
    assert [claim.id for claim in other.claim(session, types=("refund",))] == [refund]


def test_a_savepoint_is_rolled_back_and_its_number_is_taken_by_another_type_in_the_same_transaction(
    open_world: OpenWorld,
) -> None:
    world = open_world()
    jobs = [world.new_job(type=name) for name in ("invoice", "refund", "invoice")]
    with world.store.transaction() as tx:
        tx.execute("SAVEPOINT mine")
        for number, job in enumerate(jobs):
            if number == 1:
                tx.execute("ROLLBACK TO mine")
            world.store.enqueue_jobs(EnqueueJobs([job], tx)).wait()
    assert world.find(jobs[0].id) is None
    assert types_of(world, jobs[1].id, jobs[2].id) == ["refund", "invoice"]


def test_a_transaction_that_is_rolled_back_and_begun_again_by_the_caller(open_world: OpenWorld) -> None:
    world = open_world()
    with world.store.transaction() as tx:
        world.store.enqueue_jobs(EnqueueJobs([world.new_job(type="invoice")], tx)).wait()
        tx.execute("ROLLBACK; BEGIN IMMEDIATE")
        refund = world.new_job(type="refund")
        world.store.enqueue_jobs(EnqueueJobs([refund], tx)).wait()
    invoice = world.add(type="invoice")
    assert types_of(world, refund.id, invoice) == ["refund", "invoice"]


def test_lanes_that_a_restored_backup_numbers_otherwise(open_world: OpenWorld, path: Path, backup: Path) -> None:
    world = open_world()
    world.add(type="refund")
    copy(path, backup)
    other = World(SqliteStore(str(backup), clock=world.clock), world.clock)
    other.add(type="report")
    other.store.close()
    world.add(type="invoice")
    copy(backup, path)
    ids = [world.add(type=name) for name in ("invoice", "report", "refund")]
    assert types_of(world, *ids) == types_of(open_world(), *ids) == ["invoice", "report", "refund"]


@pytest.mark.parametrize("as_many", [False, True])
def test_a_live_worker_takes_only_its_types_from_a_restored_backup(
    open_world: OpenWorld, path: Path, backup: Path, as_many: bool
) -> None:
    world, other = open_world(), open_world()
    session = world.register(types=("invoice",))
    copy(path, backup)
    first = world.add(type="invoice")
    assert [claim.id for claim in world.claim(session, types=("invoice",))] == [first]
    copy(backup, path)
    refund = other.add(type="refund")
    invoice = other.add(type="invoice") if as_many else None
    assert [claim.id for claim in world.claim(session, types=("invoice",))] == ([invoice] if invoice else [])
    assert world.state(refund) is State.PENDING
    assert world.find(first) is None


# Pauses


def test_what_is_paused_after_a_restore(open_world: OpenWorld, path: Path, backup: Path) -> None:
    world = open_world()
    session = world.register()
    mail, film = world.add(queue="mail"), world.add(queue="film")
    copy(path, backup)
    world.pause("queue", "mail")
    assert [claim.id for claim in world.claim(session)] == [film]
    copy(backup, path)
    open_world().pause("queue", "film")
    assert [claim.id for claim in world.claim(session)] == [mail]


# Fences


def test_no_token_is_given_twice_after_a_restore(open_world: OpenWorld, path: Path, backup: Path) -> None:
    world, other = open_world(), open_world()
    sessions = world.register("one"), other.register("two")
    ids = world.add_many(20)
    copy(path, backup)
    before = world.claim(sessions[0], 10)
    world.clock.advance(1)
    copy(backup, path)
    after = other.claim(sessions[1], 10)
    assert len(before) == len(after) == 10
    assert min(claim.token for claim in after) > max(claim.token for claim in before)
    assert world.complete(*before) == [claim.token for claim in before]
    assert other.complete(*after) == []
    assert [world.state(job_id) for job_id in ids] == [State.COMPLETED] * 10 + [State.PENDING] * 10


def test_tokens_grow_within_a_claim_and_from_claim_to_claim(open_world: OpenWorld) -> None:
    world = open_world()
    session = world.register()
    world.add_many(30)
    tokens: list[int] = []
    for seconds in (0, 0, 3600, -7200, 0, 86_400):
        world.clock.advance(seconds)
        tokens += [claim.token for claim in world.claim(session, 5)]
    assert len(tokens) == 30
    assert tokens == sorted(set(tokens))


# What does not fit


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM penstock_lane WHERE type = 'lost'",
        "UPDATE penstock_job SET tags = '[' WHERE seq = 1",
        "INSERT INTO penstock_lease (seq, attempt, session, claimed_at) VALUES (1, 1, 7, 0)",
    ],
)
def test_a_row_that_cannot_be_claimed_stops_no_other(
    open_world: OpenWorld, path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = open_world()
    session = world.register()
    job_id = world.add(type="lost")
    well = [world.add(type="well") for _ in range(3)]
    change(path, damage)
    for _ in range(2):  # As a worker with one slot asks, and one with many.
        claimed = [claim.id for limit in (1, 1, 10) for claim in world.claim(session, limit=limit)]
        well = [one for one in well if one not in claimed]
    assert not well
    assert job_id in caplog.text
    assert world.claim(session) == []


def test_what_has_ended_is_not_in_the_way_of_what_expires(open_world: OpenWorld, path: Path) -> None:
    world = open_world()
    session = world.register()
    world.add(ttl=5.0)
    change(path, "INSERT INTO penstock_outcome (seq, state, attempt, finished_at) VALUES (1, 1, 1, 0)")
    well = world.add()
    world.clock.advance(10)
    assert [claim.id for claim in world.claim(session)] == [well]


def lose_lane(path: Path) -> None:
    change(path, "DELETE FROM penstock_lane WHERE type = 'lost'")


def test_a_job_without_its_lane_is_never_silent(
    open_world: OpenWorld, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    world = open_world()
    session = world.register()
    job_id = world.add(type="lost")
    world.add(type="last")
    assert len(world.claim(session, types=("last",))) == 1
    lose_lane(path)
    other = open_world()
    with pytest.raises(NotAStore, match=f"{job_id}.*doctor --deep"):
        other.find(job_id)
    assert job_id not in other.list_ids()
    assert [record for record in caplog.records if job_id in record.getMessage() and record.levelname == "ERROR"]
    found = {finding.name: finding for finding in check.check_store(str(path), "durable", None, True)}
    assert found["jobs"].level == "error"
    assert job_id in found["jobs"].message
    assert found["integrity"].level == "ok"


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ("UPDATE penstock_ready SET lane = lane + 1", "waiting at another place than its job"),
        ("UPDATE penstock_ready SET seq = seq + 2", "in ready without a job, such as number 3"),
        ("UPDATE penstock_scheduled SET seq = seq + 2", "in scheduled without a job, such as number 4"),
        (
            "INSERT INTO penstock_parked (gate, lane, priority, due_at, seq, org) VALUES (1, 7, 0, 0, 1, '')",
            "a job in parked and ready",
        ),
    ],
)
def test_pointers_that_lead_astray_are_found(open_world: OpenWorld, path: Path, damage: str, words: str) -> None:
    world = open_world()
    world.add()
    world.add(delay=60.0)
    deep = [finding for finding in check.check_store(str(path), "durable", None, True) if finding.name == "jobs"]
    assert [finding.level for finding in deep] == ["ok"]
    change(path, damage)
    found = [finding for finding in check.check_store(str(path), "durable", None, True) if finding.name == "jobs"]
    assert {finding.level for finding in found} == {"error"}
    assert any(f"1 × {words}" in finding.message for finding in found)


def test_lanes_that_an_older_program_adds_are_told_apart(open_world: OpenWorld, path: Path) -> None:
    world = open_world()
    world.add(type="known")
    change(path, "INSERT INTO penstock_lane (type, queue, capability, resources) VALUES ('old', 'default', 'x', '')")
    with world.store.transaction() as tx:
        ((count, stamps),) = tx.execute("SELECT count(stamp), count(DISTINCT stamp) FROM penstock_lane")
    assert count == stamps == 2


# Files that go


def test_a_file_that_is_deleted_and_made_anew_by_others(open_world: OpenWorld, path: Path) -> None:
    world = open_world()
    session = world.register()
    world.add(type="invoice")
    for end in ("", "-wal", "-shm"):
        os.remove(f"{path}{end}")
    other = open_world()
    other.add(type="refund")
    for use in (world.add, lambda: world.claim(session), world.list_ids):
        with pytest.raises(StoreGone, match="deleted or replaced"):
            use()
    world.store.close()  # Neither does its end take the log of the others away.
    assert len(other.list_ids()) == 1
    other.add(type="refund")
    assert len(open_world().list_ids()) == 2
    assert integrity(path) == "ok"


@pytest.mark.parametrize(("end", "what"), [("-wal", "its log"), ("-shm", "the index of its log")])
def test_the_log_or_its_index_is_deleted_alone(open_world: OpenWorld, path: Path, end: str, what: str) -> None:
    """Others would make another, and write where this process knows nothing of."""
    world = open_world()
    session = world.register()
    world.add()
    os.remove(f"{path}{end}")
    for use in (world.add, lambda: world.claim(session), world.list_ids):
        with pytest.raises(StoreGone, match=f"{what}, .*{end}, was deleted or replaced"):
            use()


OPEN = """
import sys
from penstock.domain.errors import PenstockError
from penstock.store.contract import CheckStore, EnqueueJobs, JobSpec, ListJobs, NewJob
from penstock.store.sqlite.store import SqliteStore

new = EnqueueJobs([NewJob("one", "{}", JobSpec(type="t"))])
uses = [
    lambda store: store.migration_status(), lambda store: store.list_jobs(ListJobs()).wait(),
    lambda store: store.enqueue_jobs(new).wait(),
]
for use in uses:
    for create in (True, False):
        store = SqliteStore(sys.argv[1], create=create)
        try:
            use(store)
            print("nothing")
        except PenstockError as error:
            print(type(error).__name__, str(error))
        store.close()
found = {one.name: one for one in SqliteStore(sys.argv[1]).check_store(CheckStore()).wait()}["store"]
print(found.level, found.message, found.fix)
"""


def test_whoever_opens_a_store_whose_log_was_deleted_under_others_is_told_so(open_world: OpenWorld, path: Path) -> None:
    """Not that the disk has reported an error. In a process of its own: those of one process share the index."""
    world = open_world()
    world.add()
    os.remove(f"{path}-wal")
    done = subprocess.run([sys.executable, "-c", OPEN, str(path)], capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert len(said) == 7
    for line in said[:6]:
        assert line.startswith("StoreGone ")
        assert f"{path}-wal, was deleted" in line
        assert "stop everything that uses the store, and restore a backup" in line
    assert said[6].startswith("error ")
    assert f"{path}-wal, was deleted" in said[6]


def test_a_lock_file_that_is_deleted_does_no_harm(open_world: OpenWorld, path: Path) -> None:
    """It only says whose turn it is: SQLite's own lock is the one that counts."""
    world = open_world()
    session = world.register()
    first = world.add()
    os.remove(f"{path}-lock")
    other = open_world()
    ids = [first, *(one.add() for one in (world, other, world, other))]
    assert sorted(claim.id for claim in world.claim(session)) == sorted(ids)
    assert integrity(path) == "ok"


def test_a_backup_that_is_copied_over_the_file(open_world: OpenWorld, path: Path, backup: Path) -> None:
    """What people do: the same file, with other pages, and without the log of those who have it open."""
    world = open_world()
    session = world.register()
    world.add(type="refund")
    copy(path, backup)
    world.add(type="invoice")
    shutil.copyfile(backup, path)
    for end in ("-wal", "-shm"):
        os.remove(f"{path}{end}")
    for use in (world.add, lambda: world.claim(session), world.list_ids):
        with pytest.raises(StoreGone, match="log"):
            use()
    world.store.close()  # Writes nothing from before into what is there now.
    again = open_world()
    assert len(again.list_ids()) == 1
    again.add(type="invoice")
    assert integrity(path) == "ok"


def test_a_backup_from_before_an_upgrade(
    open_world: OpenWorld, path: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(connection, "migrations", lambda: migrations()[:10])
        old = SqliteStore(str(backup))
        old.migrate()
        old.close()
    world = open_world()
    session = world.register()
    world.add()
    copy(backup, path)
    for use in (world.add, lambda: world.claim(session)):
        with pytest.raises(StoreVersionError, match="tables"):
            use()
    open_world().list_ids()
    world.add()
    assert len(world.list_ids()) == 1
