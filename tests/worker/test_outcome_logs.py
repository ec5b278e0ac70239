"""The log says of a job what the store has taken: nothing is called completed that was refused or is not stored yet."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from penstock import App, Context, Fixed, Handler
from penstock.domain.errors import StoreUnavailable
from penstock.domain.job import Event
from penstock.store.params import FinishJobs, Unfinished
from penstock.worker.finisher import Finisher
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
    first = ["job.started", "job.lost"] if ending == "returns" else ["job.started", "job.failed", "job.lost"]
    assert sorted(found) == sorted([*first, "job.started", "job.completed"])
    assert found[-1] == "job.completed"
    assert told == ["taken", "completed"]
    assert "before its outcome was stored, which is dropped" in caplog.text


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


def test_nothing_is_kept_for_a_log_that_nobody_reads(app: App, caplog: pytest.LogCaptureFixture) -> None:
    """The path of plain jobs has no calls for each of them then."""
    called: list[int] = []

    def noted(self: Finisher, token: int, *calls: Any) -> None:
        called.append(token)

    @app.job
    async def work() -> None: ...

    for _ in range(5):
        work.enqueue()
    with pytest.MonkeyPatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(Finisher, "after", noted)
        burst(app)
    assert called == []
