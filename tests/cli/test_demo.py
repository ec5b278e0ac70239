"""`penstock demo`: every scene shows what it says, and nothing is left behind, however it ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock.engines import open_store
from penstock.store.contract import SqlStore
from tests.cli.conftest import DEADLINE_SECONDS, Shell

pytestmark = pytest.mark.turns

SHOWN = {
    "mail": ["failed, will be tried again: the mail server hung up", "→ 6 sent, 2 of them at a second attempt"],
    "pictures": ["completed: 4 sizes made", "→ 3 pictures resized"],
    "runaway": ["longer than its timeout of 1.5s", "→ completed at attempt 2:", "lines added up by process"],
    "batches": ["completed: in a call of 5", "→ 10 embedded; 1 dead: the text is empty"],
    "later": ["grace           scheduled", "→ 1 welcome was stored; the reminder came 2."],
    "hopeless": [
        "dead after 3 of 3: the warehouse did not answer",
        "→ charge_card after attempt 1: the handler said: do not retry; sync_orders after attempt 3: all 3 attempts",
    ],
    "killed": ["kill -9 ", "will be tried again: the worker died", "at attempt 2, workers lost: 1", "workers lost: 0"],
    "summary": ["2,000 of 2,000 empty jobs", "jobs/s", "dead letters", "penstock worker tasks:app", "was removed"],
}


@pytest.fixture
def temporary(shell: Shell) -> Path:
    """Where the demo puts its store."""
    folder = shell.folder / "temporary"
    folder.mkdir()
    shell.env["TMPDIR"] = str(folder)
    return folder


@contextmanager
def opened(temporary: Path) -> Iterator[SqlStore]:
    (folder,) = temporary.iterdir()
    store = open_store(f"sqlite:///{folder}/jobs.db", create=False)
    try:
        yield store
    finally:
        store.close()


def worker_pids(temporary: Path, demo: int) -> list[int]:
    """The processes of the demo's other workers, when both are there."""
    until = time.monotonic() + DEADLINE_SECONDS
    with opened(temporary) as store:
        while time.monotonic() < until:
            found = [worker.pid for worker in store.list_workers().wait() if worker.pid != demo]
            if len(found) == 2:
                return found
            time.sleep(0.05)
    raise AssertionError("the demo never had two other workers")


def until_gone(pids: list[int]) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    left = pids
    while left and time.monotonic() < until:
        left = [pid for pid in left if Path(f"/proc/{pid}").exists()]
        time.sleep(0.02)
    assert left == []


def test_the_tour_shows_every_scene_in_plain_lines_and_leaves_nothing(shell: Shell, temporary: Path) -> None:
    demo = shell.start("demo")
    for number in range(1, 9):
        demo.wait_for(f"{number} of 8")
    demo.wait_for("was removed")
    outcome = demo.end()
    assert (outcome.code, outcome.err) == (0, "")
    for scene, texts in SHOWN.items():
        for text in texts:
            assert text in outcome.out, f"{scene}: {text}"
    assert "\x1b" not in outcome.out
    assert list(temporary.iterdir()) == []


def test_on_a_terminal_it_draws_and_keeps_its_store_if_asked(shell: Shell, temporary: Path) -> None:
    outcome = shell.run_on_terminal("demo", "--scene", "pictures", "--scene", "hopeless", "--keep")
    assert outcome.code == 0
    assert "█" in outcome.out
    assert "░" in outcome.out
    (kept,) = temporary.iterdir()
    assert str(kept) in outcome.out
    dead = shell.run("dead", "list", "--json", "--store", f"sqlite:///{kept}/jobs.db").json
    assert sorted(job["type"] for job in dead["jobs"]) == ["charge_card", "sync_orders"]


def test_ctrl_c_ends_it_at_once_with_its_processes(shell: Shell, temporary: Path) -> None:
    demo = shell.start("demo")
    demo.wait_for("completed: sent to ada")
    pids = worker_pids(temporary, demo.process.pid)
    demo.signal(signal.SIGINT)
    outcome = demo.end()
    assert (outcome.code, outcome.err) == (130, "")
    assert "was removed" in outcome.out
    assert list(temporary.iterdir()) == []
    until_gone(pids)


def test_its_workers_end_with_it_also_when_it_is_killed(shell: Shell, temporary: Path) -> None:
    demo = shell.start("demo")
    demo.wait_for("completed: sent to ada")
    pids = worker_pids(temporary, demo.process.pid)
    os.kill(demo.process.pid, signal.SIGKILL)
    demo.end()
    until_gone(pids)


def test_it_ends_cleanly_when_nobody_reads_it(shell: Shell, temporary: Path) -> None:
    outcome = shell.run_unread("demo")
    assert (outcome.code, outcome.err) == (0, "")
    assert list(temporary.iterdir()) == []


def test_a_scene_that_does_not_exist(shell: Shell, temporary: Path) -> None:
    outcome = shell.run("demo", "--scene", "mial")
    assert outcome.code == 2
    assert "there is no scene 'mial'; the scenes are: mail, pictures, " in outcome.err
    assert list(temporary.iterdir()) == []
