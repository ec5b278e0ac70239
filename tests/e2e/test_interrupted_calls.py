"""Plain calls that a signal interrupts at any moment: the process goes on, and so does everybody else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.contract.engines import Engine
from tests.long import commits

LIMIT_SECONDS = 300

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


EVERY = [
    f"{task.rpartition(':')[0]}:0"
    for name in ("one signal", "one signal, operating", "several signals")
    for task in TASKS[name]
]
UNGUARDED = {"take": "enqueue:walk:0", "whole": "enqueue:again:0"}


def interrupt(address: str, tasks: list[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.e2e.interrupted", address, f"seed:{commits()}", *tasks]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)


def check(engine: Engine, address: str, tasks: list[str]) -> None:
    # With so few connections a place in the pool that is lost is soon missed.
    done = interrupt(f"{address}{engine.narrow and '&pool=4'}", tasks)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    interrupted = {line.split()[0]: int(line.split()[1]) for line in done.stdout.splitlines()}
    assert list(interrupted) == [task for task in tasks if task != "follow"]
    assert all(interrupted.values()), f"nothing was interrupted: {interrupted}"


@pytest.mark.turns
@pytest.mark.parametrize("tasks", TASKS.values(), ids=TASKS)
def test_an_interrupted_call_harms_nobody(engine: Engine, address: str, tasks: list[str]) -> None:
    check(engine, address, tasks)


@pytest.mark.long
@pytest.mark.parametrize("task", EVERY)
@pytest.mark.parametrize("follow", [(), ("follow",)], ids=["alone", "beside another thread"])
def test_a_call_that_is_interrupted_at_every_moment_harms_nobody(
    engine: Engine, address: str, task: str, follow: tuple[str, ...]
) -> None:
    check(engine, address, [*follow, task])


@pytest.mark.long
@pytest.mark.parametrize("safeguard", UNGUARDED)
def test_without_a_safeguard_an_interrupt_does_harm(engine: Engine, address: str, safeguard: str) -> None:
    done = interrupt(f"{address}{engine.narrow}", [f"without:{safeguard}", UNGUARDED[safeguard]])
    assert done.returncode != 0, f"nobody notices that {safeguard}() is gone: {done.stdout}"
