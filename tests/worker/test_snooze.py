"""Handlers that put their job off: no attempt is spent, it is bounded, and everybody can see it (J11)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

import pytest

from penstock import App, Context, Failed, Fixed, Handler, JobHandle, Snooze, State
from penstock.domain.job import Job, Transition
from tests.worker import process_jobs
from tests.worker.running import beside_worker, burst, until_state


def steps(app: App, job: JobHandle[Any]) -> list[Transition]:
    return app.store.read_history(job.id).wait()


def events(app: App, job: JobHandle[Any]) -> list[str]:
    return [step.event for step in steps(app, job)]


def told(job: Job) -> tuple[State, int, int]:
    return job.state, job.attempt, job.snoozes


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_it_is_called_again_without_an_attempt_being_spent(app: App, plain: bool) -> None:
    seen: list[tuple[int, int, bool]] = []

    def work(ctx: Context) -> str:
        seen.append((ctx.attempt, ctx.snoozes, ctx.final))
        if ctx.snoozes < 3:
            raise Snooze(0)
        return "done"

    async def work_async(ctx: Context) -> str:
        return work(ctx)

    job = app.job(name="work", attempts=1)(work if plain else work_async).enqueue()
    burst(app)
    assert job.result(timeout=0) == "done"
    assert seen == [(1, 0, True), (1, 1, True), (1, 2, True), (1, 3, True)]
    assert told(job.read()) == (State.COMPLETED, 1, 3)
    assert events(app, job) == ["snooze"] * 3


def test_it_waits_for_that_long_and_its_history_says_until_when(app: App) -> None:
    @app.job
    async def work() -> None:
        raise Snooze("10m", "the breaker of stripe is open")

    job = work.enqueue()
    burst(app)
    read = job.read()
    assert told(read) == (State.SCHEDULED, 0, 1)
    assert read.error is None
    [step] = steps(app, job)
    assert 595 < (read.due_at - step.at).total_seconds() < 605
    assert step.reason is not None
    assert step.reason.startswith("snoozed until 2")
    assert step.reason.endswith(" UTC (1 of 100): the breaker of stripe is open")


def test_past_its_bound_it_is_a_failure_by_the_usual_rules(app: App) -> None:
    @app.job(attempts=2, snoozes=2, backoff=Fixed("1h"))
    async def work(ctx: Context) -> None:
        raise Snooze(0)

    job, never = work.enqueue(), work.using(snoozes=0, attempts=1).enqueue()
    burst(app)
    read = job.read()
    assert told(read) == (State.DEAD, 2, 2)
    assert read.reason == "all 2 snoozes used, all 2 attempts used"
    assert read.error is not None
    assert read.error.type.endswith("Snooze")
    assert events(app, job) == ["snooze", "snooze", "back_off", "fail"]
    assert steps(app, job)[2].reason == "all 2 snoozes used: the attempt failed"
    assert told(never.read()) == (State.DEAD, 1, 0)


def test_what_a_task_group_raises_counts_too(app: App) -> None:
    async def part(ctx: Context) -> None:
        if ctx.snoozes < 1:
            raise Snooze(0)

    @app.job(attempts=1)
    async def work(ctx: Context) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(part(ctx))
            tasks.create_task(asyncio.sleep(0))

    job = work.enqueue()
    burst(app)
    assert told(job.read()) == (State.COMPLETED, 1, 1)


def test_single_items_of_a_batch_and_whole_calls(app: App) -> None:
    calls: list[list[str]] = []

    @app.batch_job(size=3, wait="10ms", attempts=1, snoozes=1)
    async def pack(items: list[str]) -> Sequence[str | Failed]:
        calls.append(items)
        if len(calls) == 2:
            raise Snooze(0)
        return [Failed(Snooze(0)) if len(calls) == 1 and item != "b" else item for item in items]

    jobs = [pack.enqueue(item) for item in "abc"]
    burst(app)
    reads = [job.read() for job in jobs]
    assert calls == [["a", "b", "c"], ["a", "c"]]
    assert [told(job) for job in reads] == [(State.DEAD, 1, 1), (State.COMPLETED, 1, 0), (State.DEAD, 1, 1)]


def test_in_a_child_process(process_app: App, caplog: pytest.LogCaptureFixture) -> None:
    done, dead = process_jobs.put_off.enqueue(2), process_jobs.put_off.enqueue(5)
    with caplog.at_level(logging.INFO):
        burst(process_app)
    assert done.result(timeout=0) == 2
    assert told(done.read()) == (State.COMPLETED, 1, 2)
    read = dead.read()
    assert told(read) == (State.DEAD, 1, 2)
    assert read.reason == "all 2 snoozes used, its only attempt was used"
    reason = steps(process_app, done)[0].reason
    assert reason is not None
    assert reason.endswith("of [a project]")
    assert "orion" not in caplog.text


@pytest.mark.parametrize("delay", [-1, float("nan"), 1e300, "soon", None], ids=repr)
def test_a_wait_that_is_none_is_an_error_of_the_handler(app: App, delay: Any) -> None:
    @app.job(attempts=1)
    async def work() -> None:
        raise Snooze(delay)

    job = work.enqueue()
    burst(app)
    read = job.read()
    assert told(read) == (State.DEAD, 1, 0)
    assert read.error is not None
    assert read.error.type.endswith("ConfigError")
    assert read.error.message.startswith("Snooze(delay)=")


def test_no_hook_hears_of_it_as_of_a_failure(app: App) -> None:
    heard: list[str] = []

    class Work(Handler[int, None]):
        async def process(self, ctx: Context, data: int) -> None:
            if ctx.snoozes < 1:
                raise Snooze(0)

        def on_failed(self, ctx: Context, error: BaseException) -> None:
            heard.append("failed")

        def on_complete(self, ctx: Context, result: None) -> None:
            heard.append("completed")

        def is_retryable(self, error: BaseException) -> bool:
            heard.append("asked")
            return False

    job = app.register(Work(), name="work", attempts=1).enqueue(1)
    burst(app)
    assert told(job.read()) == (State.COMPLETED, 1, 1)
    assert heard == ["completed"]


def test_what_it_was_about_to_enqueue_is_dropped(app: App) -> None:
    @app.job
    async def after() -> None: ...

    @app.job
    async def work(ctx: Context) -> None:
        ctx.enqueue(after.bind())
        raise Snooze("1h")

    work.enqueue()
    burst(app)
    assert [job.type for job in app.store.list_jobs(_all()).wait()] == ["work"]


def test_the_log_tells_it_once_as_no_error(app: App, caplog: pytest.LogCaptureFixture) -> None:
    @app.job(snoozes=5)
    async def work() -> None:
        raise Snooze("10m", "closed")

    work.enqueue()
    with caplog.at_level(logging.INFO, "penstock.job"):
        burst(app)
    [record] = [one for one in caplog.records if getattr(one, "event", "") == "job.snoozed"]
    assert (record.name, record.levelname) == ("penstock.job.work", "INFO")
    assert record.getMessage().endswith("UTC (1 of 5): closed")
    assert (record.next_try_in, record.snoozes) == (600.0, 1)  # type: ignore[attr-defined]
    assert record.reason.endswith("(1 of 5): closed")  # type: ignore[attr-defined]


def test_a_message_that_no_store_can_hold_is_spelled_out(app: App) -> None:
    @app.job
    async def work() -> None:
        raise Snooze("1h", "nul \x00 and half \ud800")

    job = work.enqueue()
    burst(app)
    assert str(steps(app, job)[0].reason).endswith("nul \\0 and half \\ud800")


def test_one_that_a_person_has_cancelled_ends_cancelled(app: App) -> None:
    asked = asyncio.Event()

    @app.job
    async def work() -> None:
        try:
            asked.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise Snooze(0) from None

    async def story() -> None:
        job = await work.aenqueue()
        await asked.wait()
        await job.acancel()
        await until_state(job, State.CANCELLED)

    beside_worker(app, story)


def test_the_jobs_of_a_workflow_wait_for_one_that_snoozes(app: App) -> None:
    order: list[str] = []

    @app.job(attempts=1)
    async def first(ctx: Context) -> None:
        order.append(f"first {ctx.snoozes}")
        if ctx.snoozes < 2:
            raise Snooze(0)

    @app.job
    async def second() -> None:
        order.append("second")

    flow = app.workflow("pair")
    flow.step(first.bind(), name="first")
    flow.step(second.bind(), after="first")
    flow.enqueue()
    burst(app)
    assert order == ["first 0", "first 1", "first 2", "second"]


def _all() -> Any:
    from penstock.store.contract import ListJobs

    return ListJobs()
