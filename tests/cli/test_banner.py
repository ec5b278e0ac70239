"""What a worker and a coordinator say of themselves when they start: only those that do start say it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.conftest import Shell

COORDINATOR = ("coordinator", "--store", "sqlite:///jobs.db")
WORKER = ("worker", "tasks:app")


@pytest.mark.parametrize("command", [WORKER, COORDINATOR, ("coordinator", "tasks:app")], ids=" ".join)
def test_one_whose_name_is_taken_says_nothing_but_that(project: Path, shell: Shell, command: tuple[str, ...]) -> None:
    assert shell.run("migrate", "--store", "sqlite:///jobs.db").code == 0
    first = shell.start(*command, "--id", "mine")
    first.wait_for("Ctrl-C stops it")
    second = shell.run(*command, "--id", "mine")
    assert (second.code, second.out) == (1, "")
    assert "mine" in second.err
    first.signal(signal.SIGINT)
    assert "penstock" in first.end().out


@pytest.mark.parametrize("command", [WORKER, COORDINATOR], ids=" ".join)
@pytest.mark.parametrize("name", ["", "a\nb", "x" * 1000], ids=["empty", "two lines", "long"])
def test_nor_one_whose_name_cannot_be(project: Path, shell: Shell, command: tuple[str, ...], name: str) -> None:
    assert shell.run("migrate", "--store", "sqlite:///jobs.db").code == 0
    ended = shell.run(*command, "--id", name)
    assert (ended.code, ended.out) == (2, "")
    assert "error:" in ended.err
