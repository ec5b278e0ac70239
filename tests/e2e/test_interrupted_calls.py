"""Plain calls that a signal interrupts at any moment: the process goes on, and so does everybody else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.contract.engines import Engine

pytestmark = pytest.mark.turns

LIMIT_SECONDS = 300
# Every moment of every call instead of some: minutes, not seconds.
EVERY = bool(os.environ.get("PENSTOCK_EVERY_INTERRUPT"))

TASKS = {
    "one signal": ["enqueue:walk:20", "many:walk:8", "transaction:walk:20", "read:walk:8"],
    "what comes out": ["enqueue:kept:0"],
    "one signal, operating": ["cancel:walk:8", "pause:walk:8"],
    "several signals": ["enqueue:again:15", "transaction:again:20", "cancel:again:8"],
    "beside another thread": ["follow", "enqueue:walk:15", "many:again:15", "transaction:again:15"],
    "real signals": [
        "enqueue:signals:120",
        "transaction:signals:60",
        "follow",
        "enqueue:signals:60",
        "read:signals:20",
    ],
    "behind another thread": ["enqueue:behind:1"],
    "cancelled": ["aenqueue:cancel:0", "atransaction:cancel:0"],
}


@pytest.mark.parametrize("tasks", TASKS.values(), ids=TASKS)
def test_an_interrupted_call_harms_nobody(engine: Engine, address: str, tasks: list[str]) -> None:
    if EVERY:
        tasks = [f"{task.rpartition(':')[0]}:0" if "walk" in task or "again" in task else task for task in tasks]
    # With so few connections a place in the pool that is lost is soon missed.
    command = [sys.executable, "-m", "tests.e2e.interrupted", f"{address}{engine.narrow and '&pool=4'}", *tasks]
    limit = None if EVERY else LIMIT_SECONDS
    done = subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    interrupted = {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}
    assert list(interrupted) == [task for task in tasks if task != "follow"]
    assert all(interrupted.values()), f"nothing was interrupted: {interrupted}"
