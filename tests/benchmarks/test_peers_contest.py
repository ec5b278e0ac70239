"""What contestants' scripts share: marks that lose nothing, and commands that enqueue what was asked for."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from benchmarks.marks import Marks
from benchmarks.peer_bench.contestant import SCRIPTS
from benchmarks.peer_bench.contestants import contest
from benchmarks.peer_bench.contestants.contest import Payload, Producer, enqueue_async, enqueue_plain
from benchmarks.peer_bench.stage import read_marks, read_pickups_ms


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(contest.MARKS, str(tmp_path))
    monkeypatch.setattr(contest, "_marks", None)
    return tmp_path


def test_without_a_mark_there_is_nothing(folder: Path) -> None:
    assert read_marks(folder) == Marks(0, 0, 0)


def test_the_rate_is_from_the_first_start_to_the_last() -> None:
    assert Marks(count=11, first_ns=1_000_000_000, last_ns=3_000_000_000).per_second == 5.0


def test_marks_of_many_threads_lose_nothing(folder: Path) -> None:
    """The count in the file never falls behind, whichever thread wrote last."""

    def mark_many() -> None:
        for _ in range(500):
            contest.mark(0)

    threads = [threading.Thread(target=mark_many) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = read_marks(folder)
    assert found.count == 4000
    assert 0 < found.first_ns <= found.last_ns


def test_marks_of_several_processes_are_added_up_on_one_clock(folder: Path) -> None:
    code = "import contest; contest.mark(0); contest.mark(0); print(contest.time.monotonic_ns())"
    ends = [
        int(subprocess.run([sys.executable, "-c", code], cwd=SCRIPTS, capture_output=True, check=True).stdout)
        for _ in range(2)
    ]
    found = read_marks(folder)
    assert found.count == 4
    assert found.first_ns < ends[0] < found.last_ns < ends[1]


def test_a_probe_is_a_pickup_and_no_mark(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic_ns", lambda: 7_500_000)
    contest.mark(5_000_000)
    assert read_pickups_ms(folder) == [2.5]
    assert read_marks(folder).count == 0


def test_the_payload_has_about_190_bytes() -> None:
    assert 180 <= len(json.dumps(contest.payload(), separators=(",", ":"))) <= 200


@pytest.mark.parametrize(("command", "sizes"), [("one", [1] * 5), ("many", [5])])
def test_as_many_are_enqueued_as_was_asked_for(command: str, sizes: list[int]) -> None:
    sent: list[list[Payload]] = []
    enqueue_plain(Producer(lambda job: sent.append([job]), sent.append), command, 5)
    assert [len(jobs) for jobs in sent] == sizes


def test_bulk_goes_in_calls_of_a_thousand() -> None:
    sent: list[int] = []
    enqueue_plain(Producer(lambda _: None, lambda jobs: sent.append(len(jobs))), "many", 2500)
    assert sent == [1000, 1000, 500]


def test_async_calls_are_awaited_one_after_the_other() -> None:
    under_way: list[Payload] = []

    async def one(job: Payload) -> None:
        assert under_way == []
        under_way.append(job)
        await asyncio.sleep(0)
        under_way.clear()

    assert asyncio.run(enqueue_async(Producer(one), "one", 10)) > 0


def test_probes_carry_the_moment_before_their_enqueue(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contest, "GAP_SECONDS", 0)
    sent: list[int] = []
    enqueue_plain(Producer(lambda job: sent.append(job["sent"])), "produce", 3)
    assert len(sent) == 3
    assert 0 < sent[0] < sent[1] < sent[2] < time.monotonic_ns()
