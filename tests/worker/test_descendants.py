"""What a process handler has started ends with its process, wherever it has gone; and nothing else does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import App, State
from penstock.worker.processes.descendants import ON_LINUX, kill_descendants
from tests.e2e.processes import until as gone
from tests.e2e.supervised import alive
from tests.worker import process_jobs as jobs
from tests.worker.process_jobs import entries
from tests.worker.running import PATIENCE_SECONDS, beside_worker, burst, until, until_state

pytestmark = pytest.mark.skipif(not ON_LINUX, reason="needs the process tree of Linux")
WAYS = ["plain", "session", "daemon"]


@pytest.fixture
def diary(diary: Path) -> Iterator[Path]:
    """What a failed test leaves behind is ended all the same."""
    yield diary
    for pid in started(diary):
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


def started(diary: Path) -> list[int]:
    return [int(pid) for (pid,) in entries(diary, "started")]


@pytest.mark.parametrize("how", WAYS)
def test_a_timeout_ends_all_that_was_started(process_app: App, diary: Path, how: str) -> None:
    job = jobs.start_and.using(timeout="2s").enqueue(how, "wait")
    burst(process_app, process_slots=1)
    assert job.read().error is not None
    assert job.state() is State.DEAD
    assert [alive(pid) for pid in started(diary)] == [False]


@pytest.mark.parametrize("how", WAYS)
def test_a_cancel_ends_all_that_was_started(process_app: App, diary: Path, how: str) -> None:
    async def story() -> None:
        job = await jobs.start_and.aenqueue(how, "wait")
        await until(lambda: started(diary), "it has started one")
        await job.acancel()
        await until_state(job, State.CANCELLED)
        await until(lambda: not alive(started(diary)[0]), "it is gone")

    beside_worker(process_app, story, process_slots=1)


@pytest.mark.parametrize("how", WAYS)
def test_a_crash_of_its_own_ends_all_that_was_started(process_app: App, diary: Path, how: str) -> None:
    async def story() -> None:
        job = await jobs.start_and.aenqueue(how, "die")
        await until_state(job, State.DEAD)
        await until(lambda: not alive(started(diary)[0]), "it is gone")

    beside_worker(process_app, story, process_slots=1)


@pytest.mark.parametrize("how", WAYS)
def test_what_is_left_running_is_left_alone_until_the_process_ends(process_app: App, diary: Path, how: str) -> None:
    async def story() -> None:
        job = await jobs.start_and.aenqueue(how, "return")
        first = await job.aresult(PATIENCE_SECONDS)
        again = await jobs.pid_of.aenqueue()
        assert (await again.aresult(PATIENCE_SECONDS))[0] == first, "the process goes on"
        assert [alive(pid) for pid in started(diary)] == [True]

    beside_worker(process_app, story, process_slots=1)
    assert [alive(pid) for pid in started(diary)] == [False]


def test_nothing_but_what_is_below_is_killed() -> None:
    """A sibling is no descendant, whatever its number."""
    ours = subprocess.Popen(jobs.SLEEP)
    code = f"import subprocess, time; print(subprocess.Popen({jobs.SLEEP!r}).pid, flush=True); time.sleep(300)"
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        below = int(parent.stdout.readline())
        kill_descendants(parent.pid)
        gone(lambda: not alive(below), "it is told to die, and does")
        assert alive(ours.pid)
        assert alive(parent.pid)
    finally:
        for process in (ours, parent):
            process.kill()
            process.communicate()
