"""The hooks of handler classes: called in order, told the truth, and without a say in the outcome."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    App,
    Context,
    Fixed,
    Handler,
    JobCancelled,
    PayloadError,
    Progress,
    State,
    UsageError,
)
from penstock.domain.job import Event
from penstock.store.contract import FinishJobs, ListJobs, Unfinished
from penstock.worker import executors
from penstock.worker.running import hooks
from tests.worker.running import beside_worker, burst, until
from tests.worker.told import START, UNDER_WAY, Async, Order, Plain, Told


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many hooks failed, in all workers of the test."""
    made: list[hooks.HookCalls] = []

    class Counted(hooks.HookCalls):
        def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
            super().__init__(loop)
            made.append(self)

    monkeypatch.setattr(executors, "HookCalls", Counted)
    return lambda: sum(calls.failed for calls in made)


# The hooks of an attempt


@pytest.mark.parametrize("kind", [Async, Plain])
def test_the_hooks_of_a_success_in_their_order(app: App, kind: type[Told]) -> None:
    handler = kind()
    job = app.register(handler).enqueue(Order(7))
    burst(app)
    assert job.result(timeout=0) == "order 7"
    assert handler.told == [START, ("process", 7), UNDER_WAY, ("complete", "order 7")]


@pytest.mark.parametrize("kind", [Async, Plain])
def test_every_failed_attempt_is_told_and_which_was_the_last(app: App, kind: type[Told]) -> None:
    handler = kind()
    job = app.register(handler, attempts=2, backoff=Fixed(0)).enqueue(Order(7, "fail"))
    burst(app)
    assert job.state() is State.DEAD
    assert [one for one in handler.told if one[0] in ("start", "failed")] == [
        START, ("failed", "ValueError", False), ("start", 2, True), ("failed", "ValueError", True),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("order", "options", "failed"),
    [
        (Order(7, "never"), {"attempts": 5}, ("failed", "DoNotRetry", True)),
        (Order(7, "hang"), {"attempts": 1, "timeout": "20ms"}, ("failed", "TimeoutError", True)),
        (Order(7, "hang"), {"attempts": 2, "timeout": "20ms"}, ("failed", "TimeoutError", False)),
    ],
    ids=["do not retry", "timeout", "timeout and another try"],
)
def test_on_failed_is_called_for_every_kind_of_failure(
    app: App, order: Order, options: dict[str, Any], failed: tuple[Any, ...]
) -> None:
    handler = Async()
    app.register(handler, backoff=Fixed("1h"), **options).enqueue(order)
    burst(app)
    assert handler.told == [START, ("process", 7), UNDER_WAY, failed]


def test_a_payload_that_does_not_decode_fails_for_good_with_the_resources_at_hand(
    tmp_path: Path, other_app: App
) -> None:
    @asynccontextmanager
    async def lifespan() -> AsyncIterator[str]:
        yield "database"

    seen: list[tuple[Any, ...]] = []

    class Work(Async):
        async def on_failed(self, ctx: Context, error: BaseException) -> None:
            seen.append((type(error), ctx.final, ctx.attempt, ctx.resources))

    @other_app.job(name="Work")
    async def old_work(id: str) -> None: ...

    app = App(f"sqlite:///{tmp_path}/jobs.db", lifespan=lifespan)
    app.register(Work(), attempts=5)
    job = old_work.using(attempts=5).enqueue("not a number")
    burst(app)
    app.close()
    assert job.state() is State.DEAD
    assert seen == [(PayloadError, True, 1, "database")]


def test_on_failed_gets_the_stack(app: App) -> None:
    stacks: list[object] = []

    class Work(Told):
        async def on_failed(self, ctx: Context, error: BaseException) -> None:
            stacks.append(error.__traceback__)

    app.register(Work(), attempts=1).enqueue(Order(7, "fail"))
    burst(app)
    assert stacks != [None]


def test_outcomes_are_stored_before_their_hooks_are_called(app: App) -> None:
    states: list[State] = []

    class Work(Told):
        async def on_complete(self, ctx: Context, result: str) -> None:
            states.append(await (await app.aget(ctx.id)).astate())

        async def on_failed(self, ctx: Context, error: BaseException) -> None:
            states.append(await (await app.aget(ctx.id)).astate())

    work = app.register(Work(), attempts=1)
    app.enqueue_many([work.bind(Order(1)), work.bind(Order(2, "fail"))])
    burst(app)
    assert sorted(states) == [State.COMPLETED, State.DEAD]


def test_the_attempt_waits_for_on_start_and_its_time_does_not_run(app: App) -> None:
    deadlines: list[object] = []
    go_on = asyncio.Event()

    class Work(Told):
        async def on_start(self, ctx: Context) -> None:
            deadlines.append(ctx.deadline)
            await go_on.wait()

        async def process(self, ctx: Context, data: Order) -> str:
            deadlines.append(ctx.deadline)
            return "done"

    @app.job
    async def other() -> None:
        await go_on.wait()

    work = app.register(Work(), timeout="1s")

    async def story() -> None:
        job, beside = await work.aenqueue(Order(1)), await other.aenqueue()
        async with asyncio.timeout(30):
            while await beside.astate() is not State.RUNNING:  # The worker has said by now what runs.
                await asyncio.sleep(0.005)
        assert await job.astate() is State.CLAIMED
        go_on.set()
        assert await job.aresult(timeout=30) == "done"

    beside_worker(app, story)
    before, during = deadlines
    assert before is None
    assert during is not None


def test_a_job_that_is_cancelled_during_on_start_never_runs(app: App) -> None:
    handler = Async()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slow_start(ctx: Context) -> None:
        begun.set()
        await go_on.wait()

    handler.on_start = slow_start  # type: ignore[method-assign]
    work = app.register(handler)

    async def story() -> None:
        job = await work.aenqueue(Order(1))
        await begun.wait()
        await job.acancel()
        with pytest.raises(JobCancelled):
            await job.aresult(timeout=30)
        go_on.set()

    beside_worker(app, story)
    assert handler.told == []


def test_a_stop_during_on_start_gives_the_job_back(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "LAST_HOOKS_SECONDS", 0.02)
    begun = asyncio.Event()

    class Work(Told):
        async def on_start(self, ctx: Context) -> None:
            begun.set()
            await asyncio.Event().wait()

    handler = Work()
    job = app.register(handler).enqueue(Order(1))

    async def story() -> None:
        await begun.wait()

    beside_worker(app, story, shutdown_timeout="10ms")
    assert (job.state(), job.read().attempt, handler.told) == (State.PENDING, 0, [])


def test_no_hook_is_called_for_a_job_that_was_taken_away(app: App) -> None:
    tokens: list[int] = []

    class Work(Async):
        async def process(self, ctx: Context, data: Order) -> str:
            tokens.append(ctx.token)
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return "too late"
            return ""

    handler = Work()
    work = app.register(handler)

    async def story() -> None:
        job = await work.aenqueue(Order(1))
        await until(lambda: tokens, "it has begun")
        taken = Unfinished(token=tokens[0], event=Event.BACK_OFF, delay=3600.0)
        await app.store.finish_jobs(FinishJobs(unfinished=[taken]))
        assert await job.astate() is State.SCHEDULED

    beside_worker(app, story)
    assert handler.told == [START]


def test_an_outcome_that_the_store_refuses_has_no_hook(app: App) -> None:
    """The job is taken away between the end of the handler and the write of its outcome."""

    class Work(Async):
        async def process(self, ctx: Context, data: Order) -> str:
            taken = Unfinished(token=ctx.token, event=Event.BACK_OFF, delay=3600.0)
            await app.store.finish_jobs(FinishJobs(unfinished=[taken]))
            return "done"

    handler = Work()
    job = app.register(handler).enqueue(Order(1))
    burst(app)
    assert job.state() is State.SCHEDULED
    assert handler.told == [START]


def test_a_thread_that_heeds_its_cancellation_has_not_completed(app: App) -> None:
    begun, pause = threading.Event(), threading.Event()
    told: list[str] = []

    class Work(Handler[Order, str]):
        def process(self, ctx: Context, data: Order) -> str:
            begun.set()
            while not ctx.cancelled:
                pause.wait(0.005)
            return "stopped by itself"

        def on_complete(self, ctx: Context, result: str) -> None:
            told.append(result)

    work = app.register(Work())

    async def story() -> None:
        job = await work.aenqueue(Order(1))
        await until(begun.is_set, "it has begun")
        await job.acancel()
        with pytest.raises(JobCancelled):
            await job.aresult(timeout=30)

    beside_worker(app, story)
    assert told == []


def test_a_follow_up_from_a_hook_that_comes_too_late_is_an_error(app: App, counted: Callable[[], int]) -> None:
    errors: list[Exception] = []

    @app.job
    async def follow_up() -> None: ...

    class Work(Told):
        async def on_start(self, ctx: Context) -> None:
            ctx.enqueue(follow_up.bind())

        async def on_complete(self, ctx: Context, result: str) -> None:
            await follow_up.aenqueue()
            try:
                ctx.enqueue(follow_up.bind())
            except UsageError as error:
                errors.append(error)

    app.register(Work()).enqueue(Order(1))
    burst(app)
    assert "this attempt has ended: use aenqueue()" in str(errors[0])
    assert len(app.store.list_jobs(ListJobs(type="follow_up")).wait()) == 2


# Hooks that misbehave


class Stuck:
    """Ways to hang, all of them let go by the end of the test."""

    def __init__(self) -> None:
        self.thread = threading.Event()

    async def hang(self, *_: Any) -> None:
        await asyncio.Event().wait()

    async def swallow(self, *_: Any) -> None:
        for _time in range(2):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    def hang_in_thread(self, *_: Any) -> None:
        self.thread.wait()


@pytest.fixture
def stuck() -> Iterator[Stuck]:
    made = Stuck()
    yield made
    made.thread.set()


def with_hook(name: str, hook: Callable[..., Any]) -> Told:
    """A handler with one hook."""

    async def call_async(self: Told, *args: Any) -> None:
        await hook(*args)

    def call(self: Told, *args: Any) -> None:
        hook(*args)

    made: Told = type("Work", (Told,), {name: call_async if asyncio.iscoroutinefunction(hook) else call})()
    return made


async def raises(*_: Any) -> None:
    raise RuntimeError("the hook is broken")


def raises_in_thread(*_: Any) -> None:
    raise RuntimeError("the hook is broken")


async def leaves(*_: Any) -> None:
    sys.exit("the hook is broken")


async def is_cancelled(*_: Any) -> None:
    raise asyncio.CancelledError("the hook is broken")


HOOKS = ["on_start", "on_progress", "on_complete", "on_failed"]


@pytest.mark.parametrize("hook", [raises, raises_in_thread, leaves, is_cancelled])
@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_that_raises_changes_nothing_and_is_logged_and_counted(
    app: App, caplog: pytest.LogCaptureFixture, counted: Callable[[], int], name: str, hook: Callable[..., Any]
) -> None:
    work = app.register(with_hook(name, hook), attempts=1)
    good, bad = app.enqueue_many([work.bind(Order(1)), work.bind(Order(2, "fail"))])
    burst(app)
    assert (good.result(timeout=0), bad.state()) == ("order 1", State.DEAD)
    assert counted() == (1 if name in ("on_complete", "on_failed") else 2)
    assert f"the hook {name} of Work" in caplog.text
    assert "the hook is broken" in caplog.text


@pytest.mark.parametrize("how", ["hang", "swallow", "hang_in_thread"])
@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_that_hangs_is_given_up(
    app: App, caplog: pytest.LogCaptureFixture, counted: Callable[[], int], monkeypatch: pytest.MonkeyPatch,
    stuck: Stuck, name: str, how: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(hooks, "HOOK_SECONDS", 0.02)
    work = app.register(with_hook(name, getattr(stuck, how)), attempts=1)
    good, bad = app.enqueue_many([work.bind(Order(1)), work.bind(Order(2, "fail"))])
    burst(app)
    assert (good.result(timeout=0), bad.state()) == ("order 1", State.DEAD)
    assert counted() == (1 if name in ("on_complete", "on_failed") else 2)
    assert "it took longer than 0.02 s" in caplog.text


def test_a_stop_does_not_wait_for_long(
    app: App, caplog: pytest.LogCaptureFixture, counted: Callable[[], int], monkeypatch: pytest.MonkeyPatch,
    stuck: Stuck,
) -> None:  # fmt: skip
    monkeypatch.setattr(hooks, "LAST_HOOKS_SECONDS", 0.02)

    class Work(Told):
        def on_progress(self, ctx: Context, progress: Progress) -> None:
            stuck.hang_in_thread()

        async def on_complete(self, ctx: Context, result: str) -> None:
            self.told.append(("complete",))

    handler = Work()
    job = app.register(handler).enqueue(Order(1))
    burst(app)
    assert job.state() is State.COMPLETED
    assert handler.told == [("process", 1)]
    assert counted() == 2, "the one that hangs, and the one that waits for it"
    assert "2 hooks were not over 0.02 s after the last job and were given up" in caplog.text


def test_hooks_end_before_the_worker_has_stopped(app: App) -> None:
    class Work(Told):
        async def on_complete(self, ctx: Context, result: str) -> None:
            for _ in range(100):
                await asyncio.sleep(0)
            self.told.append(("complete", result))

    handler = Work()
    app.register(handler).enqueue(Order(1))
    burst(app)
    assert handler.told[-1] == ("complete", "order 1")


def test_more_slow_plain_hooks_than_threads(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "THREADS_MAX", 2)
    handler = Plain()
    work = app.register(handler)
    app.enqueue_many(work.bind(Order(number)) for number in range(20))
    burst(app)
    assert sum(one[0] == "complete" for one in handler.told) == 20


def test_a_plain_hook_may_return_something_to_await(app: App) -> None:
    class Work(Told):
        async def later(self) -> None:
            self.told.append(("later",))

        def on_complete(self, ctx: Context, result: str) -> Any:
            return self.later()

    handler = Work()
    app.register(handler).enqueue(Order(1))
    burst(app)
    assert handler.told[-1] == ("later",)
