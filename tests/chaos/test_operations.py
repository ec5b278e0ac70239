"""What the faults of administrators stand on: the looks at the store, the gap in time, the small disk, the standby."""

from __future__ import annotations

import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from penstock.domain.job import Job, State
from penstock.store.contract import Finding
from tests.chaos.actors import Broken, until
from tests.chaos.forget import forget_stored
from tests.chaos.places import SqlitePlace, prepare
from tests.chaos.small_disk import SmallDisk
from tests.chaos.taken_back import Gap, check_refused, fired_again, taken_back
from tests.chaos.truth import Truth
from tests.chaos.watch import Watch
from tests.checker import truth as checker_truth
from tests.checker.events import (
    ClaimTold,
    EnqueueAsked,
    EnqueueTold,
    Event,
    FinishAsked,
    JobAsked,
    JobClaimed,
    LostTold,
    ScheduleAsked,
    ScheduleChanged,
    ScheduleTold,
    Success,
)
from tests.checker.truth import TrueJob
from tests.nursery.nursery import ROOT, path
from tests.postgres.processes import wait_until
from tests.postgres.server import Server
from tests.postgres.standby import Standby

GAP = Gap(copy_begun=100, copy_ended=200, return_begun=300, return_ended=400)

# The looks


def wrong(count: int, example: str) -> list[Finding]:
    return [Finding("jobs", "error", f"{count} × a job that is in no state, such as {example}", "report it")]


def test_what_is_found_twice_in_a_row_is_broken_whatever_the_numbers(tmp_path: Path) -> None:
    watch = Watch(SqlitePlace(tmp_path))
    watch.note(wrong(1, "a"))
    watch.note([])
    watch.note(wrong(2, "b"))
    watch.check()
    watch.note(wrong(3, "c"))
    with pytest.raises(Broken, match="3 × a job that is in no state, such as c"):
        watch.check()


def test_of_the_machine_it_says_nothing(tmp_path: Path) -> None:
    watch = Watch(SqlitePlace(tmp_path))
    for _ in range(2):
        watch.note([Finding("free space", "error", "the disk is full", "free space")])
    watch.check()


def test_a_row_that_is_out_of_place_is_found_while_the_store_is_in_use(tmp_path: Path) -> None:
    place = SqlitePlace(tmp_path)
    store = prepare(place)
    with store.transaction() as tx:
        tx.execute("INSERT INTO penstock_ready (lane, priority, due_at, seq) VALUES (1, 0, 1, 4711)")
    with Watch(place) as watch:
        until(lambda: watch.found, "the row is found twice")
    store.close()
    with pytest.raises(Broken, match="without a job"):
        watch.check()


# The gap


def enqueued(begun: int, ended: int) -> list[Event]:
    asked = EnqueueAsked(at=begun, process="client", op="enqueue", phase="invoke", call=1, jobs=(JobAsked(id="a"),))
    told = EnqueueTold(at=ended, process="client", op="enqueue", phase="ok", call=1, ids=("a",), created=(True,))
    return [asked, told]


def holding(*ids: str) -> Truth:
    now = datetime.now(UTC)
    jobs = {
        id: Job(
            id=id, type="plain", queue="default", capability="default", state=State.COMPLETED, payload=None, priority=0,
            attempt=1, max_attempts=3, crashes=0, created_at=now, due_at=now,
        )
        for id in ids
    }  # fmt: skip
    return Truth(jobs, [], set(), [])


@pytest.mark.parametrize(("begun", "ended"), [(50, 100), (110, 190), (250, 260), (390, 500)])
def test_what_was_acknowledged_in_the_gap_may_be_gone(begun: int, ended: int) -> None:
    assert taken_back(enqueued(begun, ended), holding(), GAP) == {"a"}
    assert taken_back(enqueued(begun, ended), holding("a"), GAP) == set()


def fired(call: int, begun: int, ended: int) -> list[Event]:
    changes = (ScheduleChanged("steady", (JobAsked(id="a"),)),)
    asked = ScheduleAsked(at=begun, process="w", op="schedule", phase="invoke", call=call, changes=changes)
    return [asked, ScheduleTold(at=ended, process="w", op="schedule", phase="ok", call=call, stored=("steady",))]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [((250, 260), (450, 460), {"a"}), ((50, 60), (450, 460), set()), ((250, 260), None, set())],
)
def test_a_tick_that_was_taken_back_may_be_taken_once_more(
    first: tuple[int, int], second: tuple[int, int] | None, found: set[str]
) -> None:
    assert fired_again(fired(1, *first) + (fired(2, *second) if second else []), GAP) == found


def test_a_job_of_which_nothing_is_promised_is_forgotten_in_the_store_too() -> None:
    states = {"a": "dead", "b": "completed"}
    jobs = tuple(TrueJob(id=id, type="tick", state=state, attempt=1) for id, state in states.items())
    left = forget_stored(checker_truth.Truth(jobs=jobs, counts={"dead": 1, "completed": 1}), {"a"})
    assert (left.jobs, left.counts) == (jobs[1:], {"dead": 0, "completed": 1})


@pytest.mark.parametrize(("begun", "ended"), [(50, 99), (401, 500)])
def test_what_was_acknowledged_before_it_or_asked_for_after_it_is_lost(begun: int, ended: int) -> None:
    with pytest.raises(Broken, match="lost: a was acknowledged"):
        taken_back(enqueued(begun, ended), holding(), GAP)


@pytest.mark.parametrize(
    ("claimed", "finished", "lost", "fine"),
    [(250, 450, (), False), (250, 450, (7,), True), (250, 290, (), True), (50, 450, (), True), (150, 450, (), True)],
)
def test_a_claim_that_was_taken_back_ends_nothing(
    claimed: int, finished: int, lost: tuple[int, ...], fine: bool
) -> None:
    events: list[Event] = [
        Event(at=claimed, process="worker", op="claim", phase="invoke", call=1),
        ClaimTold(at=claimed + 1, process="worker", op="claim", phase="ok", call=1, jobs=(JobClaimed("a", 7, 1),)),
        FinishAsked(
            at=finished, process="worker", op="finish", phase="invoke", call=2, completed=(Success("a", 7),)
        ),
        LostTold(at=finished + 1, process="worker", op="finish", phase="ok", call=2, lost=lost),
    ]  # fmt: skip
    if fine:
        check_refused(events, GAP)
    else:
        with pytest.raises(Broken, match="finished token 7"):
            check_refused(events, GAP)


# The disk

MOUNTS_AND_WAITS = """
import sys
from tests.chaos.small_disk import SmallDisk

with SmallDisk() as disk:
    print(disk.path, flush=True)
    sys.stdin.read()
"""


@pytest.mark.long  # It mounts a disk, which only root may do; so does the next one.
def test_a_small_disk_is_full_to_the_last_byte_and_empty_again() -> None:
    with SmallDisk() as disk:
        disk.fill()
        with pytest.raises(OSError, match="No space left"):
            (disk.path / "more").write_bytes(b"a")
        disk.empty()
        (disk.path / "more").write_bytes(bytes(1 << 20))
    assert not disk.path.exists()


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_small_disk_goes_with_the_process_that_made_it(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", MOUNTS_AND_WAITS], cwd=ROOT, env={"PYTHONPATH": path(), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    with process:
        assert process.stdout
        disk = Path(process.stdout.readline().decode().strip())
        assert disk.is_mount()
        process.send_signal(number)
        process.wait(30)
    wait_until(lambda: not disk.exists(), "the disk is gone")


# The standby


@pytest.mark.turns
def test_a_standby_has_what_the_primary_has_and_takes_over() -> None:
    with Server(18) as primary:
        primary.execute("CREATE TABLE kept AS SELECT 1 AS number")
        with Standby(primary) as standby:
            primary.execute("INSERT INTO kept VALUES (2)")
            wait_until(standby.follows, "the standby has it")
            primary.kill()
            standby.promote()
            standby.execute("INSERT INTO kept VALUES (3)")
            assert standby.execute("SELECT sum(number)::int FROM kept") == [(6,)]
