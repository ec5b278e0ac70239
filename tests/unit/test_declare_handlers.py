"""Declaring classes and batch handlers: what is read from them, and what is said of those that are wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import pytest

from penstock import App, BatchContext, ConfigError, Context, Failed, Handler
from penstock.domain.registry import Declaration

D = TypeVar("D")
R = TypeVar("R")


@dataclass
class Text:
    text: str


@dataclass
class Vector:
    numbers: list[float]


class Embed(Handler[Text, Vector]):
    async def process(self, ctx: Context, data: Text) -> Vector:
        return Vector([])


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    app = App(f"sqlite:///{tmp_path}/jobs.db")
    yield app
    app.close()


def declared(app: App, name: str) -> Declaration:
    found = app.registry.find(name)
    assert found is not None
    return found


def takes(declaration: Declaration, text: str) -> Any:
    """What the handler is given for this payload."""
    values, named = declaration.signature.arguments(declaration.signature.decode(text))
    (value,) = (*values, *named.values())
    return value


# Classes


def test_a_class_and_an_object_of_it_are_declared_alike(app: App) -> None:
    app.job(Embed)
    app.register(Embed(), name="other", aliases=["alias"], queue="gpu", attempts=1)
    first, second = declared(app, "Embed"), declared(app, "alias")
    assert (first.name, second.name) == ("Embed", "other")
    assert (second.options.queue, first.runner, first.wants_context) == ("gpu", "async", True)
    for one in (first, second):
        assert takes(one, '{"text":"x"}') == Text("x")
        assert (one.result_type, one.hooked) == (Vector, frozenset())


def test_the_hooks_that_a_class_has_are_known(app: App) -> None:
    class Base(Embed):
        def on_failed(self, ctx: Context, error: BaseException) -> None: ...

    class Child(Base):
        def is_retryable(self, error: BaseException) -> bool:
            return False

    app.register(Child())
    assert declared(app, "Child").hooked == {"on_failed", "is_retryable"}


def test_types_come_from_process_or_from_the_brackets(app: App) -> None:
    class Bare(Handler[Text, Vector]):
        def process(self, ctx, data):  # type: ignore[no-untyped-def]
            return data

    class Annotated(Handler):  # type: ignore[type-arg]
        def process(self, ctx: Context, data: Text) -> Vector:
            return Vector([])

    class Base(Handler[D, R], Generic[D, R]):
        def process(self, ctx: Context, data: D) -> R:
            raise NotImplementedError

    class Swapped(Base[R, D], Generic[D, R]):
        """Its own variables are in another order."""

    class Texts(Swapped[Vector, D], Generic[D]): ...

    class Last(Texts[Text]): ...

    for kind in (Bare, Annotated, Last):
        app.register(kind())
        one = declared(app, kind.__name__)
        assert takes(one, '{"text":"x"}') == Text("x"), kind
        assert one.result_type is Vector, kind


def test_types_that_nobody_names_are_anything(app: App) -> None:
    class Base(Handler[D, R], Generic[D, R]):
        def process(self, ctx: Context, data: D) -> R:
            raise NotImplementedError

    class Unknown(Base):  # type: ignore[type-arg]
        pass

    app.register(Unknown())
    one = declared(app, "Unknown")
    assert takes(one, '{"data":{"text":"x"}}') == {"text": "x"}
    assert one.result_type is None


class NoProcess(Handler[int, int]): ...


class TooMany(Handler[int, int]):
    def process(self, ctx: Context, data: int, more: int) -> int:  # type: ignore[override]
        return data


class Generates(Handler[int, Any]):
    def process(self, ctx: Context, data: int) -> Any:
        yield data


class Needs(Handler[int, int]):
    def __init__(self, repo: object) -> None: ...

    def process(self, ctx: Context, data: int) -> int:
        return data


class AsksLate(Handler[int, int]):
    def process(self, ctx: Context, data: int) -> int:
        return data

    async def is_retryable(self, error: BaseException) -> bool:  # type: ignore[override]
        return True


class NotAFunction(Handler[int, int]):
    process = 5  # type: ignore[assignment]


class NoHandler:
    def process(self, ctx: Context, data: int) -> int:
        return data


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        (NoProcess, r"NoProcess has no process\(\): define it with \(self, ctx, data\)"),
        (TooMany, r"TooMany.process takes \(self, ctx, data\), and nothing else"),
        (Generates, "is a generator; a handler returns once"),
        (Needs, r"cannot be made without arguments .*'repo'.*app.register\(Needs\(…\)\)"),
        (AsksLate, "is_retryable is async; it is asked at once: make it a plain def"),
        (NotAFunction, "NotAFunction.process must be a function; this is 5"),
        (NoHandler, "takes a function or a subclass of penstock.Handler.*NoHandler"),
        (Embed(), "app.register takes objects; this is <.*Embed object"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_wrong_with_a_class(app: App, kind: Any, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        app.job(kind)


@pytest.mark.parametrize("thing", [Embed, NoHandler(), print])
def test_only_handler_objects_are_registered(app: App, thing: Any) -> None:
    with pytest.raises(ConfigError, match="takes an object of a subclass of"):
        app.register(thing)


def test_a_class_in_a_process_must_be_importable(app: App) -> None:
    class Local(Embed):
        async def process(self, ctx: Context, data: Text) -> Vector:
            return Vector([])

    with pytest.raises(ConfigError, match="cannot run in a process: it is defined inside a function"):
        app.register(Local(), runner="process")
    app.register(Embed(), runner="process")


def test_a_context_of_a_batch_belongs_to_batch_handlers(app: App) -> None:
    async def work(ctx: BatchContext, item: int) -> None: ...

    with pytest.raises(ConfigError, match=r"work takes a BatchContext: declare it with @app.batch_job"):
        app.job(work)


# Batches


def test_what_a_batch_handler_says_of_its_items(app: App) -> None:
    @app.batch_job(size=8, wait="20ms", name="embed")
    async def embed(ctx: BatchContext, items: list[Text]) -> list[Vector | Failed]:
        return []

    one = declared(app, "embed")
    assert one.batching is not None
    assert (one.batching.size, one.batching.wait, one.wants_context) == (8, 0.02, True)
    assert takes(one, '{"text":"x"}') == Text("x")
    assert one.result_type is Vector


def test_items_without_fields_are_named_item(app: App) -> None:
    @app.batch_job(name="count")
    def count(words: Sequence[str]) -> Sequence[int]:
        return []

    one = declared(app, "count")
    assert takes(one, '{"item":"x"}') == "x"
    assert (one.result_type, one.runner) == (int, "thread")


@pytest.mark.parametrize(
    ("returns", "one"),
    [
        (list[Vector], Vector),
        (list[Vector | Failed | None], Vector | None),
        (list[list[float] | Failed], list[float]),
        (list[list[float]], list[float]),
        (list[Failed], None),
        (list[Any], None),
        (list, None),
        (None, None),
    ],
    ids=str,
)
def test_the_type_of_one_result(app: App, returns: Any, one: Any) -> None:
    async def work(items: list[int]) -> Any: ...

    work.__annotations__["return"] = returns
    app.batch_job()(work)
    assert declared(app, "work").result_type == one


async def good(items: list[int]) -> list[int]:
    return items


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"size": 0}, "size=0 is not possible: a whole number from 1 to 10000"),
        ({"size": True}, "size=True is not possible"),
        ({"size": 2.0}, "size=2.0 is not possible"),
        ({"size": 10_001}, "size=10001 is not possible"),
        ({"wait": "soon"}, "wait='soon' is not a duration"),
        ({"wait": None}, "wait=None is not a duration"),
        ({"runner": "thread"}, "runner='thread' does not fit good, which is an async function"),
        ({"runner": "gpu"}, "runner='gpu' does not exist; use one of: async, thread, process"),
        ({"atempts": 3}, "option 'atempts' does not exist"),
    ],
    ids=str,
)
def test_what_is_wrong_with_the_options_of_a_batch(app: App, options: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        app.batch_job(**options)(good)


def unannotated(items):  # type: ignore[no-untyped-def]
    return items


def bare(items: list) -> list[int]:  # type: ignore[type-arg]
    return items


def wrong_context(ctx: Context, items: list[int]) -> list[int]:
    return items


def by_name(*, items: list[int]) -> list[int]:
    return items


def star(*items: list[int]) -> list[int]:
    return []


def generates(items: list[int]) -> Iterator[int]:
    yield from items


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (
            unannotated,
            r"does not say what its items are: annotate the parameter 'items' as list\[ItemType\]",
        ),
        (bare, "bare does not say what its items are"),
        (
            wrong_context,
            r"takes \(ctx: .*Context.*, items: .*\): a batch handler takes .* or \(BatchContext",
        ),
        (by_name, "a batch handler takes one list of items"),
        (star, "a batch handler takes one list of items"),
        (generates, "is a generator"),
        (Embed, "@app.batch_job takes a function; this is <class"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_is_wrong_with_a_batch_handler(app: App, function: Callable[..., Any], why: str) -> None:
    declare: Any = app.batch_job()
    with pytest.raises(ConfigError, match=why):
        declare(function)


def test_a_batch_job_without_parentheses_is_named(app: App) -> None:
    with pytest.raises(ConfigError, match=r"needs its parentheses: @app\.batch_job\(size=32"):
        cast(Any, app).batch_job(unannotated)
