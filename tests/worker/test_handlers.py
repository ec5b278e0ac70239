"""Handler classes: the same path as functions, with data of their own and dependencies from outside."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar

import msgspec
import pydantic
import pytest

from penstock import (
    App,
    Context,
    Fixed,
    Handler,
    JobHandle,
    PayloadError,
    State,
)
from tests.worker.running import burst
from tests.worker.told import Async, Order, Told

D = TypeVar("D")
R = TypeVar("R")


# Whether another attempt could help


class Judged(Told):
    def is_retryable(self, error: BaseException) -> bool:
        if str(error) == "fail":
            raise RuntimeError("undecided")
        return not isinstance(error, (ValueError, TimeoutError))


def test_is_retryable_says_no(app: App) -> None:
    handler = Judged()
    job = app.register(handler, attempts=5, backoff=Fixed(0)).enqueue(Order(1, "recover"))
    burst(app)
    read = job.read()
    assert (read.state, read.attempt) == (State.DEAD, 1)
    assert read.reason == "the handler said that it is not retryable"


def test_is_retryable_is_asked_about_timeouts(app: App) -> None:
    job = app.register(Judged(), attempts=5, timeout="20ms").enqueue(Order(1, "hang"))
    burst(app)
    assert (job.state(), job.read().attempt) == (State.DEAD, 1)


def test_the_usual_rules_decide_when_is_retryable_raises(app: App, caplog: pytest.LogCaptureFixture) -> None:
    job = app.register(Judged(), attempts=2, backoff=Fixed(0)).enqueue(Order(1, "fail"))
    burst(app)
    assert (job.state(), job.read().attempt) == (State.DEAD, 2)
    assert "is_retryable of Judged raised; the usual rules decide" in caplog.text


def test_is_retryable_cannot_allow_what_is_forbidden(app: App) -> None:
    job = app.register(Judged(), attempts=5).enqueue(Order(1, "never"))
    burst(app)
    assert job.read().reason == "the handler said: do not retry"


# Payloads


class Struct(msgspec.Struct):
    id: int
    note: str = ""


class Model(pydantic.BaseModel):
    id: int
    note: str = ""


class Typed(TypedDict):
    id: int
    note: str


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Order, Order(1, "x")),
        (Struct, Struct(1, "x")),
        (Model, Model(id=1, note="x")),
        (Typed, {"id": 1, "note": "x"}),
        (dict[str, Any], {"id": 1, "note": "x"}),
        (dict, {"id": 1, "note": "x"}),
    ],
    ids=["dataclass", "struct", "model", "typed dict", "dict of any", "dict"],
)
def test_the_fields_of_the_data_are_the_payload(app: App, kind: Any, data: Any) -> None:
    seen: list[Any] = []

    class Work(Handler[Any, None]):
        async def process(self, ctx: Context, data: Any) -> None:
            seen.append(data)

    Work.process.__annotations__["data"] = kind
    job = app.register(Work()).enqueue(data)
    assert job.read().payload == {"id": 1, "note": "x"}
    app.enqueue("Work", {"id": 1, "note": "x"})
    burst(app)
    assert seen == [data, data]


@pytest.mark.parametrize(
    ("kind", "data", "payload"),
    [(int, 7, 7), (list[int], [1, 2], [1, 2]), (Order | Struct | None, None, None), (str | int, "x", "x")],
    ids=str,
)
def test_data_without_fields_has_the_name_of_its_parameter(app: App, kind: Any, data: Any, payload: Any) -> None:
    if kind == Order | Struct | None:
        kind = Order | None  # JSON could not tell an order from a struct.
    seen: list[Any] = []

    class Work(Handler[Any, None]):
        async def process(self, ctx: Context, data: Any) -> None:
            seen.append(data)

    Work.process.__annotations__["data"] = kind
    job = app.register(Work()).enqueue(data)
    assert job.read().payload == {"data": payload}
    app.enqueue("Work", {"data": payload})
    burst(app)
    assert seen == [data, data]


def test_old_and_new_code_run_side_by_side(app: App, other_app: App) -> None:
    """A field that only one side knows: extra ones are ignored, missing ones have their default."""
    seen: list[Order] = []

    class Work(Handler[Order, None]):
        async def process(self, ctx: Context, data: Order) -> None:
            seen.append(data)

    @other_app.job(name="Work")
    async def other(id: int, added_later: bool) -> None: ...

    app.register(Work())
    other.enqueue(1, added_later=True)
    burst(app)
    assert seen == [Order(1, "")]


def test_a_type_whose_own_code_raises_is_a_payload_that_does_not_fit(app: App, other_app: App) -> None:
    @dataclass
    class Positive:
        number: int

        def __post_init__(self) -> None:
            {1: "one"}[self.number]

    class Work(Handler[Positive, None]):
        async def process(self, ctx: Context, data) -> None: ...  # type: ignore[no-untyped-def]

    Work.process.__annotations__["data"] = Positive

    @other_app.job(name="Work")
    async def other(number: int) -> None: ...

    app.register(Work())
    bad, good = other.enqueue(2), other.enqueue(1)
    burst(app)
    assert (bad.state(), good.state()) == (State.DEAD, State.COMPLETED)
    with pytest.raises(PayloadError, match="does not fit"):
        app.enqueue("Work", {"number": 2})


# Classes


class Repeat(Handler[D, R], Generic[D, R]):
    """A base for several jobs, which knows neither its data nor its result."""

    def make(self, data: D) -> R:
        raise NotImplementedError

    async def process(self, ctx: Context, data: D) -> R:
        return self.make(data)


class Orders(Repeat[Order, R]):
    """Knows its data."""


class Count(Orders[Struct]):
    def make(self, data: Order) -> Struct:
        assert isinstance(data, Order)
        return Struct(data.id + 1)


def test_types_are_found_through_generic_bases(app: App) -> None:
    job = app.register(Count()).enqueue(Order(1))
    assert job.read().payload == {"id": 1, "note": ""}
    burst(app)
    assert job.result(timeout=0) == Struct(2)


def test_hooks_are_inherited_and_types_too(app: App) -> None:
    class Child(Async):
        """Nothing of its own."""

    handler = Child()
    job = app.register(handler, name="child").enqueue(Order(7))
    burst(app)
    assert job.read().payload == {"id": 7, "note": ""}
    assert handler.told[-1] == ("complete", "order 7")


def test_one_class_with_different_dependencies_is_several_jobs(app: App) -> None:
    class Send(Handler[Order, str]):
        def __init__(self, to: str) -> None:
            self.to = to

        async def process(self, ctx: Context, data: Order) -> str:
            return f"{data.id} to {self.to}"

    jobs = [app.register(Send(to), name=f"send-to-{to}").enqueue(Order(1)) for to in ("ada", "bob")]
    burst(app)
    assert [job.result(timeout=0) for job in jobs] == ["1 to ada", "1 to bob"]


def test_functions_and_classes_run_through_one_path(app: App) -> None:
    """Options, aliases, threads and direct calls are the same for both."""

    class Work(Handler[Order, str]):
        def process(self, ctx: Context, data: Order) -> str:
            return f"{data.id} {threading.current_thread() is not threading.main_thread()}"

    work = app.job(name="new-name", aliases=["old-name"], queue="mail", attempts=1)(Work)
    job: JobHandle[Any] = app.enqueue("old-name", {"id": 3})
    burst(app)
    assert job.result(timeout=0) == "3 True"
    assert (job.read().queue, job.read().max_attempts) == ("mail", 1)
    without: Any = None
    assert work(without, Order(4)) == "4 False"


# Logs


@pytest.mark.parametrize("shown", [False, True])
def test_what_is_logged_of_a_job(app: App, caplog: pytest.LogCaptureFixture, shown: bool) -> None:
    caplog.set_level(logging.DEBUG, "penstock.job.Told")
    work = app.register(Told(), attempts=1)
    app.enqueue_many([work.bind(Order(7, "secret")), work.bind(Order(8, "fail"))])
    burst(app, log_payloads=shown, concurrency=1)
    seen = [(one.levelname, one.getMessage().split(" ", 3)[3]) for one in caplog.records if "job.Told" in one.name]
    levels = [(level, words.split()[0].rstrip(":")) for level, words in seen]
    assert levels == [("INFO", "started"), ("INFO", "completed"), ("INFO", "started"), ("ERROR", "dead")]
    assert ("secret" in caplog.text) is shown
    assert ("order 7" in caplog.text) is shown


def test_stored_progress_is_logged_for_debugging(app: App, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "penstock.job.Async")
    app.register(Async()).enqueue(Order(7))
    burst(app)
    assert 'progress {"percent":7,"phase":"under way"}' in caplog.text
