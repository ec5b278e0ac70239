"""Colours on a terminal that has them, and nowhere else."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Shell

ESCAPE = "\x1b["
COMMANDS = [
    ["counts"],
    ["jobs", "list"],
    ["dead", "list"],
    ["workers", "--all"],
    ["doctor"],
    ["config"],
    ["--help"],
    ["jobs", "show", "not an id"],
    ["nope"],
]
COLOURED = [["counts"], ["doctor"], ["jobs", "show", "not an id"]]
ADDRESS = {"PENSTOCK_STORE": "sqlite:///jobs.db"}


@pytest.fixture
def shell(shell: Shell) -> Shell:
    assert shell.run("migrate", env=ADDRESS).code == 0
    shell.env |= ADDRESS
    return shell


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_pipe_gets_no_colours(shell: Shell, args: list[str]) -> None:
    outcome = shell.run(*args, env={"FORCE_COLOR": "1", "TERM": "xterm-256color"})
    assert outcome.out + outcome.err
    assert ESCAPE not in outcome.out + outcome.err


@pytest.mark.parametrize("args", COLOURED, ids=" ".join)
def test_a_terminal_gets_colours(shell: Shell, args: list[str]) -> None:
    assert ESCAPE in shell.run_on_terminal(*args).out


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_terminal_without_colours_gets_none(shell: Shell, args: list[str], env: dict[str, str]) -> None:
    shown = shell.run_on_terminal(*args, env=env).out
    assert shown
    assert ESCAPE not in shown
