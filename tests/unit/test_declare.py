"""Where a handler runs: by its kind, or in a process if it is asked for and a child could import it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import App, ConfigError, Context, Handler


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    yield app
    app.close()


async def waits(text: str) -> None: ...


def computes(text: str) -> None: ...


async def waits_for_many(texts: list[str]) -> list[None]:
    return [None] * len(texts)


def computes_many(texts: list[str]) -> list[None]:
    return [None] * len(texts)


class Consolidate(Handler[str, None]):
    async def process(self, ctx: Context, data: str) -> None: ...

    def method(self) -> None: ...

    @staticmethod
    def plain() -> None: ...


def quietly(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **named: Any) -> Any:
        return function(*args, **named)

    return wrapper


def loudly(function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(text: str) -> Any:
        return function(text)

    return wrapper


def runner_of(app: App, name: str) -> str:
    found = app.registry.find(name)
    assert found is not None
    return found.runner


@pytest.mark.parametrize(
    ("function", "asked", "runner"),
    [
        (waits, None, "async"),
        (waits, "async", "async"),
        (waits, "process", "process"),
        (computes, None, "thread"),
        (computes, "thread", "thread"),
        (computes, "process", "process"),
        (quietly(computes), "process", "process"),
        (Consolidate.plain, "process", "process"),
    ],
)
def test_where_a_function_runs(app: App, function: Any, asked: Any, runner: str) -> None:
    app.job(name="it", runner=asked)(function)
    assert runner_of(app, "it") == runner


@pytest.mark.parametrize(
    ("function", "asked", "runner"),
    [
        (waits_for_many, None, "async"),
        (waits_for_many, "process", "process"),
        (computes_many, None, "thread"),
        (computes_many, "process", "process"),
    ],
)
def test_where_a_batch_runs(app: App, function: Any, asked: Any, runner: str) -> None:
    app.batch_job(name="it", runner=asked)(function)
    assert runner_of(app, "it") == runner


def test_where_an_object_runs(app: App) -> None:
    app.register(Consolidate(), name="here")
    app.register(Consolidate(), name="apart", runner="process")
    assert (runner_of(app, "here"), runner_of(app, "apart")) == ("async", "process")


@pytest.mark.parametrize(
    ("function", "asked", "problem"),
    [
        (waits, "thread", "runner='thread' does not fit waits, which is an async function: "
                          "leave runner= out, or make it a plain def"),
        (computes, "async", "runner='async' does not fit computes, which is a plain function: "
                            "leave runner= out, or make it async def"),
        (computes, "processes", "runner='processes' does not exist; use one of: async, thread, process"),
        (computes, 7, "runner=7 does not exist; use one of: async, thread, process"),
    ],
)  # fmt: skip
def test_a_runner_that_does_not_fit_is_refused(app: App, function: Any, asked: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        app.job(name="it", runner=asked)(function)
    assert str(error.value) == problem


def local() -> Callable[..., Any]:
    def inner() -> None: ...

    return inner


def of_the_script() -> Callable[..., Any]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec("def started() -> None: ...", scope)
    function: Callable[..., Any] = scope["started"]
    return function


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda: None, "<lambda> cannot run in a process: it is a lambda, and a child process could not import it"),
        (local(), "local.<locals>.inner cannot run in a process: it is defined inside a function"),
        (loudly(computes), "loudly.<locals>.wrapper cannot run in a process: it is defined inside a function"),
        (quietly(local()), "local.<locals>.inner cannot run in a process: it is defined inside a function"),
        (of_the_script(), "started cannot run in a process: it is in the script that was started (__main__)"),
    ],
    ids=["lambda", "local", "decorated", "local with wraps", "script"],
)
def test_a_process_handler_that_no_child_could_import_is_refused(app: App, function: Any, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        app.job(name="it", runner="process")(function)
    assert str(error.value).startswith(problem)
    assert str(error.value).endswith("move it to the top level of a module of its own")
    assert app.registry.find("it") is None
    app.job(name="it")(function)  # Here, it can run.


def test_a_process_handler_of_a_local_class_is_refused(app: App) -> None:
    class Local(Handler[str, None]):
        def process(self, ctx: Context, data: str) -> None: ...

    with pytest.raises(ConfigError, match=r"Local\.process cannot run in a process: it is defined inside a function"):
        app.register(Local(), runner="process")
    with pytest.raises(ConfigError, match=r"Local\.process cannot run in a process"):
        app.job(name="it", runner="process")(Local)
