"""A set of flags is one parameter of a command, and typer sees each of them in its place."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from penstock.cli.input.flag_sets import with_flags
from penstock.cli.input.flags import CoordinatorFlags, KeyFlags, StartFlags, WorkerFlags
from penstock.config.keys import KEYS


@dataclass(frozen=True, kw_only=True)
class Colours:
    dark: Annotated[str | None, typer.Option("--dark", help="How dark.")] = None
    light: Annotated[int, typer.Option("--light")] = 3


seen: list[object] = []


@with_flags
def paint(what: str, *, times: int = 1, colours: Colours, yes: bool = False) -> None:
    seen.append((what, times, colours, yes))


def test_each_flag_stands_where_the_set_does_with_its_default() -> None:
    parameters = inspect.signature(paint).parameters
    assert list(parameters) == ["what", "times", "dark", "light", "yes"]
    assert (parameters["dark"].default, parameters["light"].default) == (None, 3)


def test_the_command_gets_the_set() -> None:
    app = typer.Typer()
    app.command()(paint)
    done = CliRunner().invoke(app, ["wall", "--light", "5", "--yes"])
    assert done.exit_code == 0, done.output
    assert seen.pop() == ("wall", 1, Colours(light=5), True)


@pytest.mark.parametrize("kind", [WorkerFlags, StartFlags, CoordinatorFlags])
def test_flags_of_the_config_are_named_as_they_are_written(kind: type[KeyFlags]) -> None:
    given = kind().given()
    assert given
    assert given.keys() <= {key.name for key in KEYS if key.flag}


def test_worker_has_every_flag_of_the_config() -> None:
    assert WorkerFlags().given().keys() == {key.name for key in KEYS if key.flag}
