"""Batch handlers: several jobs in one call, each with an outcome of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import App, BatchContext, Context, DoNotRetry, Failed, Fixed, JobHandle, Retry, State
from penstock.domain.job import Event
from penstock.store.contract import FinishJobs, ListJobs, Unfinished
from tests.worker.running import beside_worker, burst, until


@dataclass
class Text:
    text: str


@dataclass
class Vector:
    numbers: list[float]


def error_of(job: JobHandle[Any]) -> str:
    error = job.read().error
    assert error is not None
    return f"{error.type}: {error.message}"


async def ended(*jobs: JobHandle[Any]) -> list[State]:
    """The states of jobs, once all of them are final."""
    for job in jobs:
        try:
            await job.aresult(timeout=30)
        except Exception:
            pass
    return [await job.astate() for job in jobs]


async def until_state(job: JobHandle[Any], state: State) -> None:
    async with asyncio.timeout(30):
        while await job.astate() is not state:
            await asyncio.sleep(0.005)


# One call, several outcomes


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_jobs_come_in_calls_of_at_most_size_and_each_has_its_own_result(app: App, plain: bool) -> None:
    sizes: list[int] = []

    def work(texts: list[Text]) -> list[Vector | Failed]:
        sizes.append(len(texts))
        return [Vector([float(len(one.text))]) for one in texts]

    async def work_async(texts: list[Text]) -> list[Vector | Failed]:
        return work(texts)

    declare = app.batch_job(size=4, wait="10ms", name="embed")
    embed = declare(work) if plain else declare(work_async)
    jobs = app.enqueue_many(embed.bind(Text("x" * number)) for number in range(10))
    burst(app)
    assert [job.result(timeout=0) for job in jobs] == [Vector([float(number)]) for number in range(10)]
    assert sum(sizes) == 10
    assert max(sizes) == 4


def test_one_bad_item_fails_alone_and_by_its_own_rules(app: App) -> None:
    @app.batch_job(size=9, wait=0, attempts=2, backoff=Fixed(0))
    async def work(ctx: BatchContext, words: list[str]) -> list[str | Failed]:
        outcomes: dict[str, str | Failed] = {
            "good": "done",
            "hopeless": Failed(DoNotRetry("never")),
            "busy": Failed(Retry("1h")),
            "text": Failed("said in words"),
        }
        return [outcomes[word] if ctx.jobs[0].attempt == 1 else word for word in words]

    jobs = {word: work.enqueue(word) for word in ("good", "hopeless", "busy", "text")}
    burst(app)
    assert jobs["good"].result(timeout=0) == "done"
    assert jobs["hopeless"].read().reason == "the handler said: do not retry"
    assert error_of(jobs["hopeless"]).endswith("DoNotRetry: never")
    busy = jobs["busy"].read()
    assert (busy.state, busy.attempt) == (State.SCHEDULED, 1)
    assert (busy.due_at - busy.created_at).total_seconds() > 3500
    assert jobs["text"].result(timeout=0) == "text", "its second attempt"


def test_a_bare_exception_in_the_list_is_a_failure(app: App) -> None:
    @app.batch_job(size=2, wait="1h", attempts=1)
    async def work(numbers: list[int]) -> list[Any]:
        async def one(number: int) -> float:
            return 1 / number

        return await asyncio.gather(*(one(number) for number in numbers), return_exceptions=True)

    bad, good = app.enqueue_many([work.bind(0), work.bind(2)])
    burst(app)
    assert error_of(bad) == "ZeroDivisionError: division by zero"
    assert good.result(timeout=0) == 0.5


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (lambda items: items[:1], "returned 1 outcomes for 2 items: return a list with one outcome per item"),
        (lambda items: [*items, 3], "returned 3 outcomes for 2 items"),
        (lambda items: None, "returned a NoneType for 2 items"),
        (lambda items: dict.fromkeys(items), "returned a dict for 2 items"),
        (lambda items: "xy", "returned a str for 2 items"),
    ],
    ids=["too few", "too many", "nothing", "a dict", "a text"],
)
def test_a_wrong_answer_fails_every_job_and_is_retried(
    app: App, returned: Callable[[list[int]], Any], why: str
) -> None:
    calls: list[int] = []

    @app.batch_job(size=2, wait="1h", attempts=2, backoff=Fixed(0))
    async def work(items: list[int]) -> Any:
        calls.append(len(items))
        return returned(items) if len(items) == 2 else items

    jobs = app.enqueue_many([work.bind(1), work.bind(2)])
    burst(app, history="all")
    assert [job.result(timeout=0) for job in jobs] == [1, 2]
    assert calls == [2, 1, 1]
    steps = app.store.read_history(jobs[0].id).wait()
    failed = next(step.error for step in steps if step.error is not None)
    assert failed.type == "penstock.domain.errors.BatchError"
    assert f"work {why}" in failed.message


def test_a_result_that_is_not_json_fails_alone(app: App) -> None:
    @app.batch_job(size=2, wait="1h")
    async def work(items: list[int]) -> list[Any]:
        return [object() if item == 1 else item for item in items]

    bad, good = app.enqueue_many([work.bind(1), work.bind(2)])
    burst(app)
    assert "is not JSON" in error_of(bad)
    assert good.result(timeout=0) == 2


def test_an_exception_fails_all_of_them_each_by_its_own_policy(app: App) -> None:
    @app.batch_job(size=2, wait="1h", attempts=2, backoff=Fixed("1h"))
    async def work(items: list[int]) -> list[int]:
        raise ConnectionError("the model is away")

    once, twice = app.enqueue_many([work.using(attempts=1).bind(1), work.bind(2)])
    burst(app)
    assert (once.state(), twice.state()) == (State.DEAD, State.SCHEDULED)
    for job in (once, twice):
        error = job.read().error
        assert error is not None
        assert (error.message, "the model is away" in error.stack) == ("the model is away", True)


def test_the_last_of_several_attempts_runs_alone(app: App) -> None:
    calls: list[list[int]] = []

    @app.batch_job(size=3, wait="1h", attempts=3, backoff=Fixed(0))
    async def work(items: list[int]) -> list[int]:
        calls.append(items)
        if 2 in items:
            raise ValueError("poison")
        return items

    jobs = app.enqueue_many(work.bind(number) for number in (1, 2, 3))
    burst(app)
    assert [job.state() for job in jobs] == [State.COMPLETED, State.DEAD, State.COMPLETED]
    assert [len(items) for items in calls] == [3, 3, 1, 1, 1]


def test_a_payload_that_does_not_decode_dies_alone(app: App, other_app: App) -> None:
    @other_app.job(name="work")
    async def old_work(item: str) -> None: ...

    @app.batch_job(size=2, wait="1h")
    async def work(items: list[int]) -> list[int]:
        return items

    bad, *good = [old_work.enqueue("one"), work.enqueue(1), work.enqueue(2)]
    burst(app)
    assert bad.state() is State.DEAD
    assert "does not fit the handler's parameters" in error_of(bad)
    assert [job.result(timeout=0) for job in good] == [1, 2]


def test_follow_ups_and_progress_belong_to_their_job(app: App) -> None:
    @app.job
    async def follow_up(of: int) -> None: ...

    @app.batch_job(size=3, wait="1h", attempts=1)
    async def work(ctx: BatchContext, items: list[int]) -> list[int | Failed]:
        for job, item in zip(ctx.jobs, items, strict=True):
            job.report(item, phase=f"item {item}")
            job.enqueue(follow_up.bind(item))
        return [Failed("odd") if item == 3 else item for item in items]

    jobs = app.enqueue_many(work.bind(number) for number in (1, 2, 3))
    burst(app)
    found = app.store.list_jobs(ListJobs(type="follow_up")).wait()
    assert {job.parent: job.payload["of"] for job in found} == {jobs[0].id: 1, jobs[1].id: 2}
    phases = [progress.phase for job in jobs if (progress := job.read().progress) is not None]
    assert phases == ["item 1", "item 2", "item 3"]


# Gathering


def test_a_full_batch_begins_at_once(app: App) -> None:
    @app.batch_job(size=3, wait="1h")
    async def work(items: list[int]) -> list[int]:
        return items

    async def story() -> None:
        jobs = [await work.aenqueue(number) for number in range(3)]
        assert [await job.aresult(timeout=30) for job in jobs] == [0, 1, 2]

    beside_worker(app, story)


def test_a_half_filled_batch_begins_when_its_wait_is_over(app: App) -> None:
    @app.batch_job(size=1000, wait="20ms")
    async def work(items: list[int]) -> list[int]:
        return [len(items)] * len(items)

    async def story() -> None:
        assert await (await work.aenqueue(1)).aresult(timeout=30) == 1

    beside_worker(app, story)


def test_a_burst_does_not_wait_for_jobs_that_will_not_come(app: App) -> None:
    @app.batch_job(size=1000, wait="1h")
    async def work(items: list[int]) -> list[int]:
        return [len(items)] * len(items)

    jobs = app.enqueue_many(work.bind(number) for number in range(3))
    burst(app)
    assert [job.result(timeout=0) for job in jobs] == [3, 3, 3]


def test_gathering_jobs_are_not_running_and_hold_nobody_up_and_a_stop_begins_them(app: App) -> None:
    @app.batch_job(size=5, wait="1h", name="gathers")
    async def gathers(items: list[int]) -> list[int]:
        return [len(items)] * len(items)

    go_on = asyncio.Event()

    @app.job
    async def ordinary() -> None:
        await go_on.wait()

    jobs: list[JobHandle[int]] = []

    async def story() -> None:
        jobs.extend([await gathers.aenqueue(1), await gathers.aenqueue(2)])
        for job in jobs:
            await until_state(job, State.CLAIMED)
        other = await ordinary.aenqueue()
        await until_state(other, State.RUNNING)  # The worker has said by now what runs.
        assert [await job.astate() for job in jobs] == [State.CLAIMED] * 2
        go_on.set()
        await other.aresult(timeout=30)

    beside_worker(app, story, concurrency=1)
    assert [job.result(timeout=0) for job in jobs] == [2, 2]


@pytest.mark.parametrize(("size", "concurrency", "calls_max"), [(2, 5, 2), (1, 3, 3), (7, 3, 1)])
def test_how_many_calls_run_at_once(app: App, size: int, concurrency: int, calls_max: int) -> None:
    """As many full calls as fit into the slots, and always one."""
    running: set[int] = set()
    most: list[int] = []

    @app.batch_job(size=size, wait=0)
    async def work(items: list[int]) -> list[int]:
        running.add(items[0])
        most.append(len(running))
        for _ in range(20):
            await asyncio.sleep(0)
        running.discard(items[0])
        return items

    jobs = app.enqueue_many(work.bind(number) for number in range(40))
    burst(app, concurrency=concurrency)
    assert {job.state() for job in jobs} == {State.COMPLETED}
    assert max(most) == calls_max


# Stopping


def stuck(app: App, plain: bool, begun: threading.Event, **options: Any) -> Any:
    """A batch job whose call returns only when every job of it was cancelled, or its thread is let go."""

    async def work_async(ctx: BatchContext, items: list[int]) -> list[int]:
        begun.set()
        await asyncio.Event().wait()
        return items

    def work(ctx: BatchContext, items: list[int]) -> list[int]:
        begun.set()
        while not ctx.cancelled:
            pause.wait(0.005)
        return items

    pause = threading.Event()
    declare = app.batch_job(size=3, wait="1h", name="work", **options)
    return declare(work) if plain else declare(work_async)


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_cancelling_one_job_does_not_disturb_the_others(app: App, plain: bool) -> None:
    go_on, begun = threading.Event(), threading.Event()

    def work(ctx: BatchContext, items: list[int]) -> list[int]:
        begun.set()
        while not (ctx.jobs[1].cancelled and go_on.is_set()):
            pause.wait(0.005)
        return items

    async def work_async(ctx: BatchContext, items: list[int]) -> list[int]:
        begun.set()
        await until(lambda: ctx.jobs[1].cancelled and go_on.is_set(), "it was cancelled")
        return items

    pause = threading.Event()
    declare = app.batch_job(size=3, wait="1h", name="work")
    batch = declare(work) if plain else declare(work_async)

    async def story() -> None:
        jobs = await app.aenqueue_many(batch.bind(number) for number in range(3))
        await until(begun.is_set, "it has begun")
        await jobs[1].acancel()
        go_on.set()
        assert await ended(*jobs) == [State.COMPLETED, State.CANCELLED, State.COMPLETED]

    beside_worker(app, story)


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_cancelling_all_of_them_stops_the_call(app: App, plain: bool) -> None:
    begun = threading.Event()
    work = stuck(app, plain, begun)

    async def story() -> None:
        jobs = await app.aenqueue_many(work.bind(number) for number in range(3))
        await until(begun.is_set, "it has begun")
        for job in jobs:
            await job.acancel()
        assert await ended(*jobs) == [State.CANCELLED] * 3

    beside_worker(app, story)


def test_a_job_that_is_cancelled_while_it_gathers_never_began(app: App) -> None:
    @app.batch_job(size=2, wait="1h")
    async def work(items: list[int]) -> list[int]:
        return items

    async def story() -> None:
        first = await work.aenqueue(1)
        await until_state(first, State.CLAIMED)
        await first.acancel()
        assert await ended(first) == [State.CANCELLED]
        assert (await first.aread()).started_at is None
        jobs = await app.aenqueue_many([work.bind(2), work.bind(3)])
        assert await ended(*jobs) == [State.COMPLETED] * 2

    beside_worker(app, story)


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_a_call_that_takes_too_long_is_a_timeout_of_each_by_the_shortest_limit(app: App, plain: bool) -> None:
    work = stuck(app, plain, threading.Event(), attempts=1)
    limits: tuple[str | None, ...] = ("1h", None, "50ms")
    jobs = app.enqueue_many(work.using(timeout=limit).bind(1) for limit in limits)
    burst(app)
    assert [error_of(job) for job in jobs] == ["TimeoutError: the attempt took longer than its timeout of 50ms"] * 3


def test_a_timeout_after_one_was_cancelled_is_the_timeout_of_the_others(app: App) -> None:
    begun = threading.Event()
    work = stuck(app, False, begun, attempts=1, timeout="500ms")

    async def story() -> None:
        jobs = await app.aenqueue_many(work.bind(number) for number in range(3))
        await until(begun.is_set, "it has begun")
        await jobs[0].acancel()
        assert await ended(*jobs) == [State.CANCELLED, State.DEAD, State.DEAD]
        error = (await jobs[1].aread()).error
        assert error is not None
        assert error.message.endswith("longer than its timeout of 500ms")

    beside_worker(app, story)


def test_a_job_that_was_taken_away_is_dropped_and_the_others_complete(app: App) -> None:
    tokens: list[int] = []
    lost = asyncio.Event()

    @app.batch_job(size=3, wait="1h")
    async def work(ctx: BatchContext, items: list[int]) -> list[int]:
        tokens.extend(job.token for job in ctx.jobs)
        await until(lambda: ctx.jobs[0].cancelled, "it is told")
        lost.set()
        return items

    async def story() -> None:
        jobs = await app.aenqueue_many(work.bind(number) for number in range(3))
        await until(lambda: tokens, "it has begun")
        taken = Unfinished(token=tokens[0], event=Event.BACK_OFF, delay=3600.0)
        await app.store.finish_jobs(FinishJobs(unfinished=[taken]))
        await lost.wait()
        assert await ended(*jobs[1:]) == [State.COMPLETED] * 2
        assert await jobs[0].astate() is State.SCHEDULED

    beside_worker(app, story)


@pytest.mark.parametrize("plain", [False, True], ids=["async", "thread"])
def test_a_stop_releases_a_call_that_does_not_finish(app: App, plain: bool) -> None:
    begun = threading.Event()
    work = stuck(app, plain, begun)
    jobs = app.enqueue_many(work.bind(number) for number in range(3))

    async def story() -> None:
        await until(begun.is_set, "it has begun")

    beside_worker(app, story, shutdown_timeout="10ms")
    assert [(job.state(), job.read().attempt) for job in jobs] == [(State.PENDING, 0)] * 3


def test_several_calls_of_one_worker_do_not_mix_up_their_jobs(app: App) -> None:
    @app.batch_job(size=3, wait=0)
    async def work(ctx: BatchContext, items: list[int]) -> list[str]:
        await asyncio.sleep(0)
        return [f"{job.id} {item}" for job, item in zip(ctx.jobs, items, strict=True)]

    @app.job
    async def ordinary(ctx: Context) -> str:
        return ctx.id

    jobs = app.enqueue_many(work.bind(number) for number in range(100))
    others = app.enqueue_many(ordinary.bind() for _ in range(20))
    burst(app, concurrency=12)
    assert [job.result(timeout=0) for job in jobs] == [f"{job.id} {number}" for number, job in enumerate(jobs)]
    assert [job.result(timeout=0) for job in others] == [job.id for job in others]
