"""Running contestants' scripts: what they print, how they fail, and that nothing of them is left."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.peer_bench.contestant import Contestant
from benchmarks.peer_bench.stage import Deadline, Failed, Stage, ended
from tests.benchmarks.samples import peer
from tests.postgres.processes import lives, wait_until

QUEUE = """
import json, signal, sys
from contextlib import contextmanager
from contest import DATA, Producer, main_plain, mark

@contextmanager
def producer():
    with (DATA / "queue").open("a") as file:
        yield Producer(lambda job: file.write(json.dumps(job) + "\\n"))

def prepare():
    (DATA / "queue").write_text("")

def work():
    for line in (DATA / "queue").read_text().splitlines():
        mark(json.loads(line)["sent"])
    signal.pause()

main_plain(producer=producer, work=work, prepare=prepare)
"""
DIES = "from contest import main_plain\nmain_plain(producer=None, work=lambda: exit('no such table'))"


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path, {"CONTEST_DATA": str(tmp_path)})
    made.clear()
    return made


def script(folder: Path, text: str) -> Contestant:
    path = folder / "run_sample.py"
    path.write_text(text)
    return peer("sample", command=(sys.executable, str(path)))


def test_jobs_that_one_process_stores_are_marked_by_workers(stage: Stage, tmp_path: Path) -> None:
    who, deadline = script(tmp_path, QUEUE), Deadline(60)
    stage.call(who, deadline, "prepare")
    assert stage.call(who, deadline, "one", 10, 5) > 0
    with stage.workers(who, 2, deadline) as workers:
        assert stage.await_marks(who, workers, 30, deadline).count == 30
    assert [worker.returncode is not None for worker in workers] == [True, True]


def test_probes_are_read_as_times(stage: Stage, tmp_path: Path) -> None:
    who, deadline = script(tmp_path, QUEUE), Deadline(60)
    stage.call(who, deadline, "prepare")
    began = time.monotonic()
    stage.call(who, deadline, "produce", 3)
    with stage.workers(who, 1, deadline) as workers:
        found = stage.await_pickups(who, workers, 3, deadline)
    assert len(found) == 3
    # Each was sent before the worker was started, and marked before we saw it.
    assert all(0 < pickup < (time.monotonic() - began) * 1000 for pickup in found)


def test_a_command_that_fails_tells_its_last_lines(stage: Stage, tmp_path: Path) -> None:
    who = script(tmp_path, "import sys; sys.exit('the database is on fire')")
    with pytest.raises(Failed, match="sample one 10: exit code 1\nthe database is on fire"):
        stage.call(who, Deadline(60), "one", 10)


def test_a_command_that_hangs_is_ended(stage: Stage, tmp_path: Path) -> None:
    who = script(tmp_path, "import signal; signal.pause()")
    with pytest.raises(Failed, match="sample one 10: did not end in time"):
        stage.call(who, Deadline(0.2), "one", 10)


def test_a_worker_that_ends_by_itself_fails_at_once_with_its_last_lines(stage: Stage, tmp_path: Path) -> None:
    who, deadline = script(tmp_path, DIES), Deadline(60)
    with (
        pytest.raises(Failed, match=r"ended by itself, 0 of 1 jobs begun\nno such table"),
        stage.workers(who, 1, deadline) as workers,
    ):
        stage.await_marks(who, workers, 1, deadline)


def test_a_worker_that_does_too_little_fails_when_its_time_is_over(stage: Stage, tmp_path: Path) -> None:
    who = script(tmp_path, QUEUE)
    stage.call(who, Deadline(60), "prepare")
    with (
        stage.workers(who, 1, Deadline(60)) as workers,
        pytest.raises(Failed, match=r"0 of 1 jobs begun: not within 0\.1 s"),
    ):
        stage.await_marks(who, workers, 1, Deadline(0.1))


def test_children_of_a_contestant_end_with_it(tmp_path: Path) -> None:
    code = "import subprocess, sys; p = subprocess.Popen(['sleep', '600']); print(p.pid, flush=True); p.wait()"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
    with ended(process):
        assert process.stdout
        child = int(process.stdout.readline())
    assert process.returncode is not None
    wait_until(lambda: not lives(child), "the child is gone")


def test_a_worker_ends_with_the_benchmark_however_that_ended(stage: Stage, tmp_path: Path) -> None:
    """All that a killed benchmark leaves is the end of the pipe."""
    who, deadline = script(tmp_path, QUEUE), Deadline(60)
    stage.call(who, deadline, "prepare")
    with stage.workers(who, 1, deadline) as [worker]:
        assert worker.stdin
        worker.stdin.close()
        assert worker.wait(30) == -9
