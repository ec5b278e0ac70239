from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.conftest import Shell


@pytest.fixture
def temporary(shell: Shell) -> Path:
    """Where the demo puts its store."""
    folder = shell.folder / "temporary"
    folder.mkdir()
    shell.env["TMPDIR"] = str(folder)
    return folder


def test_the_demo_shows_success_failure_and_figures_and_leaves_nothing(shell: Shell, temporary: Path) -> None:
    outcome = shell.run("demo")
    assert (outcome.code, outcome.err) == (0, "")
    for shown in (
        "completed: sent to ada",
        "will be tried again: the mail server hung up",
        "completed at attempt 2",
        "dead after 3 of 3: the warehouse did not answer",
        "the card of mallory was reported stolen",
        "reminded barbara",
        "2,000 of 2,000 empty jobs",
        "jobs/s",
        "penstock worker tasks:app",
        "was removed",
    ):
        assert shown in outcome.out
    assert "\x1b" not in outcome.out
    assert list(temporary.iterdir()) == []


def test_the_demo_draws_on_a_terminal_and_keeps_its_store_if_asked(shell: Shell, temporary: Path) -> None:
    outcome = shell.run_on_terminal("demo", "--keep")
    assert outcome.code == 0
    assert "█" in outcome.out
    (kept,) = temporary.iterdir()
    assert str(kept) in outcome.out
    dead = shell.run("dead", "list", "--json", "--store", f"sqlite:///{kept}/jobs.db").json
    assert sorted(job["type"] for job in dead["jobs"]) == ["charge_card", "sync_orders"]


def test_ctrl_c_ends_the_demo_in_order(shell: Shell, temporary: Path) -> None:
    demo = shell.start("demo")
    demo.wait_for("completed: sent to ada")
    demo.signal(signal.SIGINT)
    outcome = demo.end()
    assert (outcome.code, outcome.err) == (130, "")
    assert "was removed" in outcome.out
    assert list(temporary.iterdir()) == []


def test_the_demo_ends_cleanly_when_nobody_reads_it(shell: Shell, temporary: Path) -> None:
    outcome = shell.run_unread("demo")
    assert (outcome.code, outcome.err) == (0, "")
    assert list(temporary.iterdir()) == []
