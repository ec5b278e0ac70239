"""Whatever a handler raises, returns or leaves behind: its job gets a readable outcome and its neighbours go on."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any

import pytest

from penstock import App, DoNotRetry, Fixed, JobFailed, Retry, State
from penstock.domain.job import Job
from tests.worker.running import burst


class Unheard(BaseException):
    """An exception that is not an Exception."""


class BrokenText(Exception):
    def __str__(self) -> str:
        raise RuntimeError("str() is broken")


class BrokenAttributes(Exception):
    @property
    def response(self) -> Any:
        raise RuntimeError("no response was received")

    status_code = response


class HttpError(Exception):
    def __init__(self, status_code: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"HTTP {status_code}")
        self.status_code = status_code
        self.headers = headers


def run_raising(app: App, make: Callable[[], BaseException], plain: bool, **options: Any) -> Job:
    """The job after one attempt by a handler that raises; a neighbour must have completed beside it."""

    @app.job(name="raises", **options)
    async def raises_async() -> None:
        raise make()

    def raises_plain() -> None:
        raise make()

    @app.job
    async def neighbour() -> str:
        return "fine"

    if plain:
        app.job(name="raises_plain", **options)(raises_plain)
    job = app.enqueue("raises_plain" if plain else "raises", {})
    beside = neighbour.enqueue()
    burst(app)
    assert beside.result(timeout=0) == "fine"
    return job.read()


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: SystemExit(3), "SystemExit", "3"),
        (lambda: KeyboardInterrupt(), "KeyboardInterrupt", ""),
        (lambda: GeneratorExit("closed"), "GeneratorExit", "closed"),
        (lambda: asyncio.CancelledError("by itself"), "asyncio.exceptions.CancelledError", "by itself"),
        (lambda: Unheard("odd"), f"{__name__}.Unheard", "odd"),
        (lambda: BrokenText(), f"{__name__}.BrokenText", "<the exception's own str() raised RuntimeError>"),
        (lambda: BrokenAttributes("broken"), f"{__name__}.BrokenAttributes", "broken"),
        (lambda: ValueError("half \ud800 a character"), "ValueError", "half \\ud800 a character"),
        (lambda: ValueError("nul \x00 inside"), "ValueError", "nul \x00 inside"),
        (
            lambda: ExceptionGroup("several", [ValueError("one")]),
            "ExceptionGroup",
            "several (1 sub-exception); ValueError: one",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_anything_raised_is_recorded_and_retried(
    app: App, make: Callable[[], BaseException], kind: str, message: str, plain: bool
) -> None:
    job = run_raising(app, make, plain, attempts=2, backoff=Fixed("1h"))
    assert (job.state, job.attempt) == (State.SCHEDULED, 1)
    assert job.error is not None
    assert (job.error.type, job.error.message) == (kind, message)
    assert "in raises_" in job.error.stack


def test_a_message_of_ten_megabytes_is_clipped(app: App) -> None:
    job = run_raising(app, lambda: ValueError("x" * 10_000_000), False, attempts=1)
    assert job.state is State.DEAD
    assert job.error is not None
    assert len(job.error.message) < 5000
    assert "characters left out" in job.error.message


@pytest.mark.parametrize(
    ("make", "state", "reason"),
    [
        (lambda: DoNotRetry("no such user"), State.DEAD, "the handler said: do not retry"),
        (lambda: HttpError(404), State.DEAD, "HTTP status 404 will not change by trying again"),
        (lambda: ExceptionGroup("tasks", [DoNotRetry("no such user")]), State.DEAD, "the handler said: do not retry"),
        (lambda: HttpError(429), State.SCHEDULED, None),
        (lambda: HttpError(503), State.SCHEDULED, None),
        (lambda: ConnectionResetError("gone"), State.SCHEDULED, None),
    ],
    ids=["DoNotRetry", "404", "DoNotRetry in a group", "429", "503", "reset"],
)
def test_what_is_worth_a_retry(app: App, make: Callable[[], BaseException], state: State, reason: str | None) -> None:
    job = run_raising(app, make, False, attempts=3, backoff=Fixed("1h"))
    assert (job.state, job.reason) == (state, reason)
    assert job.error is not None
    assert job.error.transient == (state is State.SCHEDULED)


@pytest.mark.parametrize(
    ("make", "seconds"),
    [
        (lambda: Retry(after="7m"), 420),
        (lambda: HttpError(503, {"Retry-After": "90"}), 90),
        (lambda: HttpError(503, {"Retry-After": formatdate(time.time() + 900, usegmt=True)}), 900),
        (lambda: Retry(), 3600),
        (lambda: Retry(after="soon"), 3600),
    ],
    ids=["Retry", "Retry-After", "Retry-After with a date", "Retry without a time", "Retry with nonsense"],
)
def test_an_asked_delay_is_kept(app: App, make: Callable[[], BaseException], seconds: float) -> None:
    job = run_raising(app, make, False, attempts=3, backoff=Fixed("1h"))
    assert job.state is State.SCHEDULED
    waits = (job.due_at - job.created_at).total_seconds()
    assert seconds * 0.89 <= waits <= seconds * 1.11 + 30


def test_attempts_are_used_up_and_the_reason_says_so(app: App) -> None:
    job = run_raising(app, lambda: ValueError("always"), False, attempts=3, backoff=Fixed(0))
    assert (job.state, job.attempt, job.reason) == (State.DEAD, 3, "all 3 attempts used")
    with pytest.raises(JobFailed, match="all 3 attempts used; ValueError: always"):
        app.get(job.id).result(timeout=0)


class Unmodelled:
    """Offers model_dump() as pydantic does, and fails in it."""

    def model_dump(self, mode: str = "python") -> Any:
        raise RuntimeError("cannot be dumped")


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
@pytest.mark.parametrize(
    ("result", "error", "words"),
    [
        (object(), "PayloadError", "the result of returns is not JSON"),
        ({1, 2}.__iter__, "PayloadError", "the result of returns is not JSON"),
        (float("nan"), "PayloadError", "holds nan, which JSON cannot carry"),
        ({"deep": [float("inf")]}, "PayloadError", "holds inf, which JSON cannot carry"),
        ("half \ud800 a character", "PayloadError", "lone surrogate"),
        ("x" * 1024 * 1024, "PayloadTooLarge", "the limit is 1,048,576: store the data elsewhere"),
    ],
    ids=["object", "method", "nan", "inf", "surrogate", "large"],
)
def test_a_result_that_cannot_be_stored_is_dead_without_a_retry(
    app: App, result: Any, error: str, words: str, plain: bool
) -> None:
    def returns_plain() -> Any:
        return result

    async def returns_async() -> Any:
        return result

    app.job(name="returns", attempts=3)(returns_plain if plain else returns_async)
    job = app.enqueue("returns")
    burst(app)
    read = job.read()
    assert (read.state, read.attempt) == (State.DEAD, 1)
    assert read.reason == "the payload or result does not fit"
    assert read.error is not None
    assert read.error.type.endswith(error)
    assert words in read.error.message


def test_a_result_whose_own_code_fails_does_not_hold_its_slot(app: App) -> None:
    @app.job(attempts=1)
    async def returns() -> Any:
        return Unmodelled()

    jobs = [returns.enqueue() for _ in range(3)]
    burst(app, concurrency=1)
    for job in jobs:
        read = job.read()
        assert read.state is State.DEAD
        assert read.error is not None
        assert read.error.message == "cannot be dumped"


def test_forgotten_tasks_are_named_and_cancelled(app: App, caplog: pytest.LogCaptureFixture) -> None:
    forgotten: list[asyncio.Task[None]] = []

    async def never_awaited() -> None:
        await asyncio.Event().wait()

    @app.job
    async def leaks() -> None:
        forgotten.append(asyncio.ensure_future(never_awaited()))

    leaks.enqueue()
    burst(app)
    assert forgotten[0].cancelled()
    assert "1 tasks were left running by handlers" in caplog.text
    assert "never_awaited" in caplog.text
    assert "asyncio.TaskGroup" in caplog.text


seen: contextvars.ContextVar[str] = contextvars.ContextVar("seen", default="nothing")


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_context_variables_stay_with_their_job(app: App, plain: bool) -> None:
    """With one slot, each job but the first is begun by the end of the one before."""

    async def remembers_async(word: str) -> str:
        before = seen.get()
        seen.set(word)
        return before

    def remembers_plain(word: str) -> str:
        before = seen.get()
        seen.set(word)
        return before

    app.job(name="remembers")(remembers_plain if plain else remembers_async)
    calls = [app.client.call_by_name("remembers", {"word": str(n)}, {}, {}) for n in range(200)]
    jobs = app.enqueue_many(calls)
    burst(app, concurrency=1)
    assert {job.result(timeout=0) for job in jobs} == {"nothing"}


def test_failures_are_logged_with_the_next_try(app: App, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock.job"):
        run_raising(app, lambda: ValueError("once more"), False, attempts=2, backoff=Fixed("1h"))
    failed = next(record for record in caplog.records if "failed" in record.getMessage())
    assert (failed.name, failed.levelname) == ("penstock.job.raises", "ERROR")
    assert "ValueError: once more (next try in " in failed.getMessage()
