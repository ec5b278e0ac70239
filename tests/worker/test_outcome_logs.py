"""The log says of a job what the store has taken: nothing is called completed that was refused or is not stored yet."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock import App, Context, Fixed, Handler
from penstock.domain.errors import StoreUnavailable
from penstock.domain.job import Event
from penstock.store.contract import CancelJob, FinishJobs, Unfinished
from penstock.worker.finishing.finisher import Finisher
from tests.worker.fakes import Answer
from tests.worker.running import burst


def events(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Of jobs, in their order."""
    return [record.event for record in caplog.records if getattr(record, "event", "").startswith("job.")]  # type: ignore[attr-defined]


def taken_away(app: App, ctx: Context) -> None:
    """Give the attempt back behind the worker's back, as recovery does. The event loop waits for it: the worker must
    not hear of it before the handler has ended.
    """
    token = ctx._run.claim.token
    app.store.finish_jobs(FinishJobs(unfinished=[Unfinished(token=token, event=Event.RELEASE)])).wait()


@pytest.mark.parametrize("ending", ["returns", "raises"])
def test_an_outcome_that_is_refused_is_lost_in_the_log_too(
    app: App, caplog: pytest.LogCaptureFixture, ending: str
) -> None:
    told: list[str] = []

    class Work(Handler[int, None]):
        async def process(self, ctx: Context, data: int) -> None:
            if not told:
                told.append("taken")
                taken_away(app, ctx)
                if ending == "raises":
                    raise ValueError("no")

        def on_complete(self, ctx: Context, result: None) -> None:
            told.append("completed")

    job = app.register(Work(), attempts=3, backoff=Fixed("1ms")).enqueue(1)
    with caplog.at_level(logging.INFO):
        burst(app)
    assert job.read().state == "completed"
    found = events(caplog)
    assert sorted(found) == ["job.completed", "job.lost", "job.started", "job.started"]
    assert found[-1] == "job.completed"
    assert told == ["taken", "completed"]
    assert "before its outcome was stored, which is dropped: " in caplog.text
    assert ("dropped: failed: ValueError: no" in caplog.text) is (ending == "raises")


def test_completed_is_told_when_it_is_stored_and_with_the_time_of_the_handler(
    app: App, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish, tries = app.store.finish_jobs, 0

    def away(params: FinishJobs) -> Any:
        nonlocal tries
        tries += 1
        if tries < 4:
            assert "job.completed" not in events(caplog)

            def unavailable() -> None:
                raise StoreUnavailable("the server does not answer")

            return Answer(unavailable)
        return finish(params)

    @app.job
    async def work() -> None: ...

    work.enqueue()
    monkeypatch.setattr(app.store, "finish_jobs", away)
    with caplog.at_level(logging.INFO):
        burst(app)
    done = next(record for record in caplog.records if getattr(record, "event", None) == "job.completed")
    assert done.duration_ms < 300  # type: ignore[attr-defined]
    text = caplog.text
    assert text.count("outcomes of 1 job not stored yet: the server does not answer; trying again") == 1
    assert "outcomes of 1 job stored" in text
    assert text.index("the store is well again") < text.index("completed in")


def test_a_log_that_raises_stops_nobody(app: App) -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError("the log is full")

    @app.job
    async def work(number: int) -> int:
        return number

    jobs = [work.enqueue(number) for number in range(3)]
    broken, logger = Broken(), logging.getLogger("penstock.job")
    logger.addHandler(broken)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    try:
        burst(app)
    finally:
        logger.removeHandler(broken)
        logger.setLevel(level)
    assert [job.result(timeout=0) for job in jobs] == [0, 1, 2]


def test_nothing_is_kept_for_a_log_that_nobody_reads(app: App, caplog: pytest.LogCaptureFixture) -> None:
    """The path of plain jobs has no calls for each of them then."""
    called: list[int] = []

    def noted(self: Finisher, *told: Any) -> None:
        called.append(1)

    @app.job
    async def work() -> None: ...

    for _ in range(5):
        work.enqueue()
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(Finisher, "after", noted)
        patch.setattr(Finisher, "tell", noted)
        burst(app)
    assert called == []


def test_a_completion_that_a_person_had_cancelled_meanwhile_is_told_as_cancelled(
    app: App, caplog: pytest.LogCaptureFixture
) -> None:
    called: list[str] = []

    class Work(Handler[int, int]):
        async def process(self, ctx: Context, data: int) -> int:
            app.store.cancel_job(CancelJob(ctx.id)).wait()  # The event loop waits: the worker hears of it too late.
            return data

        def on_complete(self, ctx: Context, result: int) -> None:
            called.append("on_complete")

    job = app.register(Work()).enqueue(1)
    with caplog.at_level(logging.INFO):
        burst(app)
    assert job.read().state == "cancelled"
    assert events(caplog) == ["job.started", "job.cancelled"]
    assert called == []
