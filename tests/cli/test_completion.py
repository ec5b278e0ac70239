"""Shell completion, asked as the shells ask: through the environment, and in a real bash."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.commands import COMMANDS
from penstock.domain.job import State
from tests.cli.conftest import Shell

STATES = [state.value for state in State]


def bash(shell: Shell, *words: str) -> list[str]:
    """What bash would offer for the last of these words."""
    asked = {"_PENSTOCK_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(("penstock", *words)),
             "COMP_CWORD": str(len(words))}  # fmt: skip
    outcome = shell.run(env=asked)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out.split()


def zsh(shell: Shell, line: str) -> str:
    return shell.run(env={"_PENSTOCK_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": line}).out


def fish(shell: Shell, line: str) -> list[str]:
    asked = {"_PENSTOCK_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": line,
             "_TYPER_COMPLETE_FISH_ACTION": "get-args"}  # fmt: skip
    return [row.split("\t")[0] for row in shell.run(env=asked).out.splitlines()]


def test_every_command_is_offered(shell: Shell) -> None:
    assert bash(shell, "") == list(COMMANDS)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["do"], ["doctor"]),
        (["jobs", ""], ["list", "show", "cancel", "retry", "watch"]),
        (["jobs", "l"], ["list"]),
        (["doctor", "--st"], ["--strict", "--store"]),
        (["dead", "list", "--err"], ["--error"]),
        (["counts", "--by", ""], ["state", "type", "queue", "capability", "tenant"]),
        (["jobs", "list", "--state", ""], STATES),
        (["jobs", "list", "--state", "pending,ca"], ["pending,cancelled"]),
        (["jobs", "list", "--state", "dead,dea"], []),
        (["worker", "tasks:app", "--log-format", ""], ["text", "json"]),
        (["worker", "tasks:app", "--log-level", "w"], ["warning"]),
    ],
    ids=" ".join,
)
def test_commands_options_and_values(shell: Shell, words: list[str], offered: list[str]) -> None:
    assert bash(shell, *words) == offered


def test_zsh_and_fish_are_offered_the_same_with_explanations(shell: Shell) -> None:
    assert fish(shell, "penstock jobs list --state c") == ["claimed", "completed", "cancelled"]
    assert fish(shell, "penstock do") == ["doctor"]
    offered = zsh(shell, "penstock do")
    assert '"doctor"' in offered
    assert "Say what is wrong" in offered


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: Shell, name: str) -> None:
    outcome = shell.run(env={"_PENSTOCK_COMPLETE": f"source_{name}"})
    assert outcome.code == 0
    assert f"_PENSTOCK_COMPLETE=complete_{name}" in outcome.out


def test_in_a_real_bash(shell: Shell, tmp_path: Path) -> None:
    program = tmp_path / "bin" / "penstock"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m penstock "$@"\n')
    program.chmod(0o755)
    typed = (
        'eval "$(_PENSTOCK_COMPLETE=source_bash penstock)"\n'
        "COMP_WORDS=(penstock jobs list --state run); COMP_CWORD=4\n"
        "_penstock_completion penstock\n"
        'echo "${COMPREPLY[@]}"; complete -p penstock\n'
    )
    found = shutil.which("bash")
    assert found is not None, "bash is what completion is most used in; install it to run this test"
    done = subprocess.run(
        [found, "--norc", "--noprofile", "-c", typed], capture_output=True, text=True, check=False, timeout=30,
        env=shell.env | {"PATH": f"{program.parent}:{shell.env['PATH']}"}, cwd=tmp_path,
    )  # fmt: skip
    assert done.stderr == ""
    offered, registered = done.stdout.splitlines()
    assert offered == "running"
    assert registered == "complete -o default -F _penstock_completion penstock"


def test_it_can_be_installed(shell: Shell, tmp_path: Path) -> None:
    found = shutil.which("bash")
    assert found is not None
    done = subprocess.run(
        [found, "--norc", "-c", f"{sys.executable} -m penstock --install-completion; true"],
        capture_output=True, text=True, check=False, timeout=30, env=shell.env | {"HOME": str(tmp_path)}, cwd=tmp_path,
    )  # fmt: skip
    assert "completion installed in" in done.stdout, done.stderr
    assert "complete_bash" in (tmp_path / ".bash_completions" / "penstock.sh").read_text()
    assert "penstock.sh" in (tmp_path / ".bashrc").read_text()
