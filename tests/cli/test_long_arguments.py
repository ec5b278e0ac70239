"""However long what is given: no command answers with all of it. What it says fits on a screen, and names the fix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from penstock import App
from penstock.cli import commands
from penstock.cli.main import app as command_line
from tests.cli.conftest import Call

LENGTH = 20_000
LINE_MAX = 2_500
LONG = ["x" * LENGTH, "x y " * (LENGTH // 4), "9" * LENGTH, "\x1b" * LENGTH, f"sqlite:///{'x' * LENGTH}"]
# What else a command needs so that it gets as far as the parameter in question, and not too far.
BESIDE = {
    "worker": ["--burst"],
    "start": ["--burst"],
    "schedules add": ["--every", "1h"],
    "jobs cancel": ["--yes"],
    "dead retry": ["--yes"],
    "dead purge": ["--yes"],
    "schedules remove": ["--yes"],
}
VALUES = {"target": "nothing_such:app", "slots": "4", "items": "[]", "payload": "{}"}


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    context = command.make_context("penstock", [], resilient_parsing=True)
    for name in command.list_commands(context):
        yield from leaves(command.get_command(context, name), (*path, name))
    if path and command.params:
        yield path, command


LEAVES = dict(leaves(typer.main.get_command(command_line)))


def words(path: tuple[str, ...], tried: Any, value: str) -> list[str]:
    """The command with this value for one of its parameters, and some value for what it needs beside it."""
    given = [*path, *BESIDE.get(" ".join(path), ())]
    arguments = []
    for parameter in LEAVES[path].params:
        word = value if parameter is tried else VALUES.get(parameter.name, "some")
        if parameter.param_type_name == "argument":
            arguments.append(word)
        elif parameter is tried or parameter.required:
            given += [parameter.opts[0], *[word] * parameter.nargs]
    return [*given, "--", *arguments] if arguments else given


def check(call: Call, *args: str) -> None:
    ended = call(*args)
    said = " ".join(word[:40] for word in args)
    longest = max(map(len, [*ended.out.splitlines(), *ended.err.splitlines()]), default=0)
    assert longest <= LINE_MAX, f"{said}: a line of {longest} characters"
    assert "Traceback" not in ended.err, said


def test_every_command_is_tried() -> None:
    assert {path[0] for path in LEAVES} == set(commands.COMMANDS)


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_no_parameter_is_echoed_whole(app: App, call: Call, path: tuple[str, ...]) -> None:
    for parameter in LEAVES[path].params:
        if not getattr(parameter, "is_flag", False):
            for value in LONG:
                check(call, *words(path, parameter, value))


@pytest.mark.parametrize("value", LONG, ids=range(len(LONG)))
def test_nor_what_is_no_parameter(app: App, call: Call, value: str) -> None:
    for args in ([value], [f"--{value}"], ["jobs", value], ["counts", f"--{value}"], ["counts", value]):
        check(call, *args)
