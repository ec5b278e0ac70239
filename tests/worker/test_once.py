"""Effects that a job runs at most once, from plain and async handlers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from penstock import App, Context, Fixed, OnceUncertain, PayloadError, State, UsageError
from tests.worker.running import burst


class Effects:
    """What happened in the world."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def do(self, what: str, value: Any = None) -> Any:
        self.done.append(what)
        return value


@pytest.fixture
def effects() -> Effects:
    return Effects()


def test_it_is_run_by_the_first_attempt_alone(app: App, effects: Effects) -> None:
    @app.job(backoff=Fixed(0))
    def plain(ctx: Context) -> list[Any]:
        values = [ctx.once("a", lambda: effects.do("a", (1, 2))), ctx.once("b", lambda: effects.do("b"))]
        if ctx.attempt < 3:
            raise ConnectionError("away")
        return values

    @app.job(backoff=Fixed(0))
    async def on_the_loop(ctx: Context) -> list[Any]:
        async def slow() -> str:
            await asyncio.sleep(0)
            return str(effects.do("async", "x"))

        values = [await ctx.aonce("a", slow), await ctx.aonce("b", lambda: effects.do("plain", {"y": 1}))]
        if ctx.attempt < 3:
            raise ConnectionError("away")
        return values

    one, two = plain.enqueue(), on_the_loop.enqueue()
    burst(app)
    assert one.result(0) == [[1, 2], None]
    assert two.result(0) == ["x", {"y": 1}]
    assert sorted(effects.done) == ["a", "async", "b", "plain"]


def test_an_effect_that_raises_is_run_again(app: App, effects: Effects) -> None:
    @app.job(backoff=Fixed(0))
    def plain(ctx: Context) -> Any:
        def effect() -> str:
            effects.do(f"plain {ctx.attempt}")
            if ctx.attempt == 1:
                raise ValueError("no")
            return "yes"

        return ctx.once("a", effect)

    @app.job(backoff=Fixed(0))
    async def on_the_loop(ctx: Context) -> Any:
        async def effect() -> object:
            effects.do(f"async {ctx.attempt}")
            return object() if ctx.attempt == 1 else "yes"

        return await ctx.aonce("a", effect)

    one, two = plain.enqueue(), on_the_loop.enqueue()
    burst(app)
    assert one.result(0) == "yes"
    assert two.read().state is State.DEAD, "a value that is not JSON is a mistake that no retry mends"
    assert effects.done.count("plain 1") == effects.done.count("plain 2") == 1


def test_one_that_was_cut_off_is_not_run_again(app: App, effects: Effects) -> None:
    @app.job(backoff=Fixed(0), timeout=0.05, attempts=2)
    async def cut_off(ctx: Context) -> str:
        async def effect() -> None:
            effects.do("begun")
            await asyncio.sleep(60)

        try:
            await ctx.aonce("a", effect)
        except OnceUncertain as error:
            return "found out" if "not known" in str(error) else "?"
        return "?"

    job = cut_off.enqueue()
    burst(app)
    assert job.result(0) == "found out"
    assert effects.done == ["begun"]


def test_the_same_effect_twice_at_once_is_a_mistake(app: App) -> None:
    @app.job(attempts=1)
    async def twice(ctx: Context) -> None:
        await ctx.aonce("a", lambda: ctx.aonce("a", lambda: None))

    job = twice.enqueue()
    burst(app)
    error = job.read().error
    assert error is not None
    assert "while the same effect is under way" in error.message


@pytest.mark.parametrize("key", ["", "x" * 201, 7])
def test_a_key_that_is_not_possible(app: App, key: Any) -> None:
    caught: list[Exception] = []

    @app.job(attempts=1)
    def bad(ctx: Context) -> None:
        try:
            ctx.once(key, lambda: None)
        except UsageError as error:
            caught.append(error)

    bad.enqueue()
    burst(app)
    assert "a text of 1 to 200 characters" in str(caught[0])


def test_once_in_a_running_loop_names_aonce(app: App) -> None:
    @app.job(attempts=1)
    async def wrong(ctx: Context) -> None:
        ctx.once("a", lambda: None)

    job = wrong.enqueue()
    burst(app)
    error = job.read().error
    assert error is not None
    assert "aonce" in error.message


def test_a_value_that_is_too_large_is_refused_like_a_result(app: App) -> None:
    caught: list[Exception] = []

    @app.job(attempts=1)
    def large(ctx: Context) -> None:
        try:
            ctx.once("a", lambda: "x" * 2**21)
        except PayloadError as error:
            caught.append(error)

    large.enqueue()
    burst(app)
    assert "the value of once('a')" in str(caught[0])
