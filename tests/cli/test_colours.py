"""Colours on a terminal that has them, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.engines import open_store
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
END = "<end>"
ALL = f"""
import sys
from penstock.cli.main import main
for args in {COMMANDS!r}:
    try:
        main(args)
    except SystemExit:
        print("{END}", flush=True)
        print("{END}", flush=True, file=sys.stderr)
"""
"""Every command, one after the other in one process."""


@pytest.fixture
def shell(shell: Shell, tmp_path: Path) -> Shell:
    shell.env["PENSTOCK_STORE"] = f"sqlite:///{tmp_path}/jobs.db"
    store = open_store(shell.env["PENSTOCK_STORE"])
    store.migrate()
    store.close()
    return shell


def check_all_without_colours(texts: list[str]) -> None:
    """Every command has said something, and nothing of it is coloured."""
    for args, text in zip(COMMANDS, texts, strict=True):
        assert text.strip(), args
        assert ESCAPE not in text, args


def test_a_pipe_gets_no_colours(shell: Shell) -> None:
    outcome = shell.run(program=("-c", ALL), env={"FORCE_COLOR": "1", "TERM": "xterm-256color"})
    said = [stream.split(END)[:-1] for stream in (outcome.out, outcome.err)]
    check_all_without_colours([out + err for out, err in zip(*said, strict=True)])


@pytest.mark.parametrize("args", COLOURED, ids=" ".join)
def test_a_terminal_gets_colours(shell: Shell, args: list[str]) -> None:
    assert ESCAPE in shell.run_on_terminal(*args).out


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_a_terminal_without_colours_gets_none(shell: Shell, env: dict[str, str]) -> None:
    shown = shell.run_on_terminal(program=("-c", ALL), env=env).out
    check_all_without_colours(shown.split(END)[:-1:2])  # both ends of each are on the one terminal
