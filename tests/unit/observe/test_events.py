"""What is done to jobs reaches those who observe: every operation that says so, each attempt as the store has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, cast, get_args, get_type_hints

import pytest

from penstock.domain.job import ErrorInfo, Event, State
from penstock.domain.options import Tenant
from penstock.observe.events import Ended, EndedBatch, Events, Observer
from penstock.observe.job_log import JobLog
from penstock.observe.observed import ANSWERING, observed
from penstock.store import contract as p
from tests.worker.fakes import Answer, claim, released

HAPPENED = p.Happened(Event.EXPIRE, "id", "send", "mail", "general")


class Heard(Observer):
    def __init__(self) -> None:
        self.jobs: list[p.Happened] = []

    def happened(self, jobs: Sequence[p.Happened]) -> None:
        self.jobs += jobs


class Deaf(Observer):
    def happened(self, jobs: Sequence[p.Happened]) -> None:
        raise RuntimeError("I cannot hear")


def answers_of_the_contract() -> dict[str, type]:
    """What each operation answers."""
    found = {}
    for role in p.Store.__mro__:
        for name, method in vars(role).items():
            if callable(method) and not name.startswith("_"):
                hints = get_type_hints(method)
                found[name] = (get_args(hints.get("return")) or (None,))[0]
    return found


def test_every_operation_that_says_what_happened_is_observed() -> None:
    answers = answers_of_the_contract()
    assert len(answers) > 40
    telling = {name for name, answer in answers.items() if "happened" in getattr(answer, "__struct_fields__", ())}
    assert telling == ANSWERING
    assert answers["enqueue_jobs"] == list[p.Enqueued]


class FakeStore:
    """Answers that one job has expired, whatever is asked."""

    address = "here"
    calls = 0

    def expire_jobs(self, params: p.ExpireJobs) -> Any:
        self.calls += 1
        return Answer(lambda: p.Expired([HAPPENED]))

    def finish_jobs(self, params: p.FinishJobs) -> Any:
        return Answer(lambda: p.Finished(happened=[HAPPENED]))

    def enqueue_jobs(self, params: p.EnqueueJobs) -> Any:
        quiet, loud = p.Enqueued("1", True), p.Enqueued("2", True, happened=[HAPPENED])
        return Answer(lambda: [quiet, loud, quiet] if params.jobs else [quiet])


def heard_of() -> tuple[p.Store, Heard, FakeStore]:
    heard, store = Heard(), FakeStore()
    return observed(cast(p.Store, store), Events(heard)), heard, store


def test_what_an_answer_says_is_handed_on_in_plain_and_async_code() -> None:
    store, heard, inner = heard_of()
    assert store.expire_jobs(p.ExpireJobs()).wait().happened == [HAPPENED]

    async def look() -> None:
        await store.expire_jobs(p.ExpireJobs())

    asyncio.run(look())
    assert heard.jobs == [HAPPENED, HAPPENED]
    assert (inner.calls, store.address) == (2, "here")


def test_of_an_enqueue_what_happened_to_any_of_its_jobs_is_handed_on() -> None:
    store, heard, _ = heard_of()
    assert len(store.enqueue_jobs(p.EnqueueJobs([])).wait()) == 1
    assert heard.jobs == []
    new = p.NewJob("2", "{}", p.JobSpec(type="send"))
    assert len(store.enqueue_jobs(p.EnqueueJobs([new])).wait()) == 3
    assert heard.jobs == [HAPPENED]


def test_what_is_part_of_a_transaction_of_the_callers_is_not_handed_on() -> None:
    store, heard, _ = heard_of()
    new = p.NewJob("2", "{}", p.JobSpec(type="send"))
    store.enqueue_jobs(p.EnqueueJobs([new], transaction=object())).wait()
    store.finish_jobs(p.FinishJobs(transaction=object())).wait()
    assert heard.jobs == []
    store.finish_jobs(p.FinishJobs()).wait()
    assert heard.jobs == [HAPPENED]


def test_an_observer_that_raises_is_logged_and_the_others_are_told(caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()
    events = Events(Deaf(), heard)
    events.happened([HAPPENED])
    events.ended(EndedBatch("w", [Ended(claim(1), released(1))]))
    assert [one.event for one in heard.jobs] == [Event.EXPIRE, Event.RELEASE]
    assert caplog.messages == ["Deaf could not take what happened to jobs"] * 2


def test_where_nothing_happened_nobody_is_called() -> None:
    Events(Deaf()).happened([])


def test_attempts_are_told_as_the_store_has_them() -> None:
    why = ErrorInfo("ValueError", "no")
    ends: list[p.Completed | p.Unfinished] = [
        p.Completed(1, 0), p.Completed(2, 0), p.Completed(3, 0), released(4),
        p.Unfinished(token=5, event=Event.BACK_OFF, delay=2.0, reason="again"),
        p.Unfinished(token=6, event=Event.FAIL, reason="gave up"),
        p.Unfinished(token=7, event=Event.FAIL, reason="gave up"),
    ]  # fmt: skip
    ended = [Ended(claim(end.token), end, 1.0, why if end.token > 4 else None) for end in ends]
    batch = EndedBatch("w", ended, p.Finished(lost=[2], cancelled=[3, 7]))
    told = [(one.event, one.state, one.decided_by, one.error, one.reason) for one in batch.happened]
    assert told == [
        (Event.COMPLETE, State.COMPLETED, "worker", None, None),
        (Event.CANCEL, State.CANCELLED, "operator", None, None),
        (Event.RELEASE, State.PENDING, "worker", None, None),
        (Event.BACK_OFF, State.SCHEDULED, "worker", "ValueError", "again"),
        (Event.FAIL, State.DEAD, "worker", "ValueError", "gave up"),
        (Event.CANCEL, State.CANCELLED, "operator", None, "gave up"),
    ]
    assert {(one.type, one.queue, one.capability, one.attempt, one.worker) for one in batch.happened} == {
        ("work", "default", "general", 1, "w")
    }
    assert batch.happened is batch.happened


def test_the_log_carries_what_a_filter_needs(caplog: pytest.LogCaptureFixture) -> None:
    told = p.Happened(
        Event.FAIL, "the-id", "send", "mail", "general", Tenant("acme", "eu"), 2, State.DEAD, "recovery", "WorkerLost",
        "w1", "its worker was lost",
    )  # fmt: skip
    with caplog.at_level(logging.ERROR, "penstock.job.send"):
        JobLog().happened([told, HAPPENED])
    [line] = caplog.records
    assert line.getMessage() == "the-id attempt 2 dead: WorkerLost: its worker was lost"
    for name, value in {
        "event": "job.dead", "job_id": "the-id", "type": "send", "queue": "mail", "attempt": 2, "tenant": "acme",
        "workspace": "eu", "worker_id": "w1", "decided_by": "recovery",
        "error": {"type": "WorkerLost", "message": "its worker was lost"},
        "reason": "its worker was lost",
    }.items():  # fmt: skip
        assert getattr(line, name) == value


def test_a_line_that_cannot_be_written_keeps_back_no_other() -> None:
    written: list[str] = []

    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(record.getMessage())
            raise OSError("the log is full")

    logger, broken = logging.getLogger("penstock.job.send"), Broken()
    logger.addHandler(broken)
    try:
        JobLog().happened([HAPPENED, HAPPENED])
    finally:
        logger.removeHandler(broken)
    assert written == ["id expired", "id expired"]
