"""Completion in a transaction of the handler's own: the job is completed if and only if that commits (F5)."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock import App, BatchContext, Context, Fixed, Handler, LeaseLost, PayloadError, State, UsageError
from penstock.domain.errors import StoreBusy
from penstock.domain.job import Event
from penstock.store.contract import FinishJobs, SaveProgress, StartJobs, Unfinished
from penstock.testing import sandbox
from penstock.worker.finishing import reporter
from penstock.worker.liveness import outage
from tests.postgres.server import shared
from tests.worker.running import beside_worker, burst, until, until_state

NOT_COMMITTED = "finish_in(), and its transaction was not committed"


@pytest.fixture(params=["sqlite", "postgresql"])
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    """An app with a table of the user's, on each engine."""
    schema = f"w_{uuid.uuid4().hex}"
    sqlite = request.param == "sqlite"
    app = App(f"sqlite:///{tmp_path}/jobs.db" if sqlite else shared(18).url(schema=schema))
    with app.transaction() as tx:
        tx.execute(f"CREATE TABLE {table(app)} (note TEXT)")
    yield app
    app.close()
    if not sqlite:
        shared(18).execute(f"DROP SCHEMA {schema} CASCADE")


def table(app: App) -> str:
    schema = app.store.address.partition("schema=")[2]
    return f"{schema}.effects" if schema else "effects"


def effects(app: App) -> list[object]:
    with app.transaction() as tx:
        return [note for (note,) in tx.execute(f"SELECT note FROM {table(app)} ORDER BY note")]


def write(app: App, tx: Any, note: str) -> None:
    tx.execute(f"INSERT INTO {table(app)} VALUES (?)", (note,))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


class OnPurpose(Exception):
    """What the handlers of these tests raise."""


class Told(Handler[dict[str, Any], Any]):
    """Tells its hooks. What it does is given by the test."""

    name = "told"

    def __init__(self, act: Any) -> None:
        self.act = act
        self.told: list[tuple[str, Any]] = []

    def process(self, ctx: Context, payload: dict[str, Any]) -> Any:
        return self.act(ctx)

    async def on_complete(self, ctx: Context, result: Any) -> None:
        self.told.append(("complete", result))

    async def on_failed(self, ctx: Context, error: BaseException) -> None:
        self.told.append(("failed", type(error).__name__))


# It commits


def test_a_plain_handler(app: App, caplog: pytest.LogCaptureFixture) -> None:
    @app.job
    def pay(ctx: Context, note: str) -> str:
        ctx.report(60)
        with app.transaction() as tx:
            write(app, tx, note)
            ctx.enqueue(after.bind(note))
            ctx.finish_in(tx, {"paid": note})
        return "ignored"

    @app.job
    def after(note: str) -> None: ...

    job = pay.enqueue("one")
    burst(app)
    found = job.read()
    assert (found.state, found.result, found.attempt, effects(app)) == (State.COMPLETED, {"paid": "one"}, 1, ["one"])
    assert found.progress is not None
    assert found.progress.percent == 60
    counts = {(count.type, count.state): count.jobs for count in app.store.count_jobs().wait()}
    assert counts == {("pay", State.COMPLETED): 1, ("after", State.COMPLETED): 1}
    assert warnings(caplog) == []


def test_an_async_handler(app: App, caplog: pytest.LogCaptureFixture) -> None:
    @app.job
    async def pay(ctx: Context, note: str) -> None:
        async with app.atransaction() as tx:
            await asyncio.to_thread(write, app, tx, note)
            await ctx.afinish_in(tx, note)

    job = pay.enqueue("one")
    burst(app)
    assert (job.read().result, effects(app)) == ("one", ["one"])
    assert warnings(caplog) == []


def test_hooks_are_told_of_a_success(app: App) -> None:
    def act(ctx: Context) -> None:
        with app.transaction() as tx:
            ctx.finish_in(tx, "given")

    handler = Told(act)
    app.register(handler).enqueue({})
    burst(app)
    assert handler.told == [("complete", "given")]


def test_a_job_that_is_not_kept_is_a_success_too(app: App, caplog: pytest.LogCaptureFixture) -> None:
    def act(ctx: Context) -> None:
        with app.transaction() as tx:
            ctx.finish_in(tx)

    handler = Told(act)
    app.register(handler, remove_on_complete=True).enqueue({})
    burst(app)
    assert handler.told == [("complete", None)]
    assert app.store.count_jobs().wait() == []
    assert warnings(caplog) == []


def test_an_error_after_the_commit_changes_nothing(app: App, caplog: pytest.LogCaptureFixture) -> None:
    def act(ctx: Context) -> None:
        with app.transaction() as tx:
            ctx.finish_in(tx, "done")
        raise OnPurpose

    handler = Told(act)
    job = app.register(handler).enqueue({})
    burst(app)
    assert job.result(timeout=0) == "done"
    assert handler.told == [("complete", "done")]
    (warning,) = warnings(caplog)
    assert "raised after its own transaction had completed the job" in warning


def test_a_handler_that_goes_on_after_the_commit_is_not_stopped(app: App, caplog: pytest.LogCaptureFixture) -> None:
    """Its token is no longer current, which otherwise means that the job was taken away."""
    go_on = asyncio.Event()
    ended: list[str] = []

    @app.job
    async def pay(ctx: Context) -> None:
        async with app.atransaction() as tx:
            await ctx.afinish_in(tx, "done")
        await go_on.wait()
        ended.append("in peace")

    @app.job
    async def other() -> None: ...

    async def story() -> None:
        job = await pay.aenqueue()
        await until_state(job, State.COMPLETED)
        for _ in range(3):  # Each wakes the worker, which then looks for lost attempts.
            await until_state(await other.aenqueue(), State.COMPLETED)
            await asyncio.sleep(0.3)
        go_on.set()
        await until(lambda: ended, "the handler ended")

    beside_worker(app, story)
    assert ended == ["in peace"]
    assert warnings(caplog) == []


def test_each_job_of_a_batch_by_itself(app: App) -> None:
    @app.batch_job(size=2, wait="10s")
    def pay(ctx: BatchContext, notes: list[str]) -> list[str]:
        with app.transaction() as tx:
            write(app, tx, notes[0])
            ctx.jobs[0].finish_in(tx, "in the transaction")
        return ["ignored", "returned"]

    first, second = pay.enqueue("one"), pay.enqueue("two")
    burst(app)
    assert (first.result(timeout=0), second.result(timeout=0)) == ("in the transaction", "returned")


# It does not


def test_an_error_in_the_transaction_takes_the_completion_back(app: App) -> None:
    @app.job(attempts=2, backoff=Fixed(0))
    def pay(ctx: Context, note: str) -> None:
        with app.transaction() as tx:
            write(app, tx, f"{note} {ctx.attempt}")
            ctx.enqueue(after.bind())
            ctx.finish_in(tx, ctx.attempt)
            if ctx.attempt == 1:
                raise OnPurpose

    @app.job
    def after() -> None: ...

    job = pay.enqueue("one")
    burst(app)
    assert (job.read().result, effects(app)) == (2, ["one 2"])
    assert sum(count.jobs for count in app.store.count_jobs().wait() if count.type == "after") == 1


def test_another_try_within_the_attempt(app: App, caplog: pytest.LogCaptureFixture) -> None:
    @app.job
    def pay(ctx: Context) -> None:
        for number in range(3):
            try:
                with app.transaction() as tx:
                    write(app, tx, f"try {number}")
                    ctx.finish_in(tx, number)
                    if number < 2:
                        raise OnPurpose
            except OnPurpose:
                continue

    job = pay.enqueue()
    burst(app)
    assert (job.read().result, job.read().attempt, effects(app)) == (2, 1, ["try 2"])
    assert warnings(caplog) == []


def test_a_handler_that_returns_without_a_commit_has_failed(app: App) -> None:
    def act(ctx: Context) -> str:
        try:
            with app.transaction() as tx:
                write(app, tx, "lost")
                ctx.finish_in(tx, "done")
                raise OnPurpose
        except OnPurpose:
            return "swallowed"

    handler = Told(act)
    job = app.register(handler, attempts=1).enqueue({})
    burst(app)
    found = job.read()
    assert (found.state, effects(app)) == (State.DEAD, [])
    assert found.error is not None
    assert found.error.type.endswith("UsageError")
    assert NOT_COMMITTED in found.error.message
    assert handler.told == [("failed", "UsageError")]


def test_a_timeout_in_the_transaction(app: App) -> None:
    @app.job(attempts=1, timeout="100ms")
    async def pay(ctx: Context) -> None:
        async with app.atransaction() as tx:
            await ctx.afinish_in(tx)
            await asyncio.sleep(60)

    job = pay.enqueue()
    burst(app)
    found = job.read()
    assert (found.state, found.error and found.error.type) == (State.DEAD, "TimeoutError")


def test_a_lost_job_ends_the_transaction(app: App) -> None:
    @app.job(attempts=1)
    def pay(ctx: Context) -> None:
        taken = Unfinished(token=ctx.token, event=Event.CANCEL, reason="taken away")
        app.store.finish_jobs(FinishJobs(unfinished=[taken])).wait()
        with app.transaction() as tx:
            write(app, tx, "lost")
            try:
                ctx.finish_in(tx)
            except LeaseLost as error:
                told.append(str(error))
                raise

    told: list[str] = []
    job = pay.enqueue()
    burst(app)
    assert (job.state(), effects(app)) == (State.CANCELLED, [])
    assert "is no longer attempt 1's" in told[0]


# What is refused


def test_follow_ups_come_before(app: App) -> None:
    @app.job(attempts=1)
    def pay(ctx: Context) -> None:
        with app.transaction() as tx:
            ctx.finish_in(tx)
            with pytest.raises(UsageError, match=r"which ctx.finish_in\(\) has stored: call it before"):
                ctx.enqueue(pay.bind())

    job = pay.enqueue()
    burst(app)
    assert job.state() is State.COMPLETED


def test_what_cannot_be_done_is_told(app: App) -> None:
    errors: list[str] = []

    def told(kind: type[Exception], act: Any, *args: Any) -> None:
        with pytest.raises(kind) as caught:
            act(*args)
        errors.append(str(caught.value))

    @app.job(attempts=1)
    def plain(ctx: Context) -> str:
        told(UsageError, ctx.finish_in, object())
        with app.transaction() as tx:
            told(PayloadError, ctx.finish_in, tx, object())
        return "went on"

    @app.job(attempts=1)
    async def asynchronous(ctx: Context) -> None:
        told(UsageError, ctx.finish_in, object())

    first, second = plain.enqueue(), asynchronous.enqueue()
    burst(app)
    assert first.result(timeout=0) == "went on"
    assert second.state() is State.COMPLETED
    assert any("conn=builtins.object cannot be used" in error for error in errors)
    assert any("the result of plain" in error for error in errors)
    assert any("await ctx.afinish_in()" in error for error in errors)


def test_after_the_end_of_the_attempt_it_is_too_late(app: App) -> None:
    kept: list[Context] = []

    @app.job
    def keep(ctx: Context) -> None:
        kept.append(ctx)

    keep.enqueue()
    burst(app)
    with app.transaction() as tx, pytest.raises(UsageError, match="this attempt has ended"):
        kept[0].finish_in(tx)


# While the transaction is open


def test_nothing_is_said_of_it_meanwhile(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """A word of a running attempt would wait for its transaction, and with it the words of all others."""
    monkeypatch.setattr(reporter, "TICK_SECONDS", 0.01)
    said: list[int] = []
    inside, go_on = threading.Event(), threading.Event()
    watched = app.store

    class Heard:
        def __getattr__(self, name: str) -> Any:
            return getattr(watched, name)

        def start_jobs(self, params: StartJobs) -> Any:
            said.extend(token for token, _ in params.starts if inside.is_set())
            return watched.start_jobs(params)

        def save_progress(self, params: SaveProgress) -> Any:
            said.extend(token for token, _ in params.progress if inside.is_set())
            return watched.save_progress(params)

    heard = App(Heard())

    @heard.job(timeout=None)
    def pay(ctx: Context) -> None:
        with app.transaction() as tx:
            ctx.finish_in(tx, "done")
            ctx.report(50)
            inside.set()
            assert go_on.wait(30)

    async def story() -> None:
        job = await pay.aenqueue()
        await until(inside.is_set, "the handler is inside")
        await asyncio.sleep(0.2)
        go_on.set()
        await until_state(job, State.COMPLETED)

    beside_worker(heard, story)
    assert said == []


def test_an_outage_of_the_store_after_the_commit(
    app: App, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outage, "SECONDS_MIN", 0.001)
    troubles = [StoreBusy("not now"), StoreBusy("not now")]
    watched = app.store

    class Troubled:
        def __getattr__(self, name: str) -> Any:
            return getattr(watched, name)

        async def read_job(self, job_id: str) -> Any:
            if troubles:
                raise troubles.pop()
            return await watched.read_job(job_id)

    troubled = App(Troubled())  # type: ignore[arg-type]

    def act(ctx: Context) -> None:
        with app.transaction() as tx:
            ctx.finish_in(tx, "done")

    handler = Told(act)
    troubled.register(handler).enqueue({})
    burst(troubled)
    assert handler.told == [("complete", "done")]
    assert troubles == []
    assert " lost: " not in caplog.text


# In tests of the user's


def test_in_the_sandbox(app: App) -> None:
    @app.job
    def pay(ctx: Context, note: str) -> None:
        with app.transaction() as tx:
            ctx.enqueue(after.bind(note))
            ctx.finish_in(tx, note)

    @app.job
    def after(note: str) -> None: ...

    with sandbox(app) as jobs:
        pay.enqueue("one")
        summary = jobs.run()
        assert (summary.completed, summary.dead, summary.retries) == (2, 0, 0)
        jobs.assert_enqueued(after, note="one")
