"""run(): a real worker, real JSON, and time that moves on by itself until nothing is left."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from penstock import (
    App,
    ConfigError,
    Context,
    DoNotRetry,
    Exponential,
    Fixed,
    JobExpired,
    JobFailed,
    Retry,
    Snooze,
    Unique,
    UsageError,
)
from penstock.testing import EndlessRun, FakeClock, Sandbox, Summary, sandbox

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


@pytest.fixture
def jobs(app: App) -> Iterator[Sandbox]:
    with sandbox(app, clock=FakeClock(NOON)) as made:
        yield made


@dataclass
class Parcel:
    sent_at: datetime
    sizes: tuple[int, int]


def test_payload_and_result_go_through_json(app: App, jobs: Sandbox) -> None:
    seen: list[object] = []

    @app.job
    async def pack(parcel: Parcel, loose: list[Any]) -> Parcel:
        seen.extend([parcel, loose])
        return parcel

    parcel = Parcel(NOON, (1, 2))
    job = pack.enqueue(parcel, [{"a": (1, 2)}])
    assert jobs.run() == Summary(completed=1)
    assert seen == [parcel, [{"a": [1, 2]}]], "an untyped tuple comes back as a list"
    assert seen[0] is not parcel
    assert job.result() == parcel


def test_retries_happen_at_once_and_move_the_clock(app: App, jobs: Sandbox) -> None:
    moments: list[tuple[int, timedelta]] = []

    @app.job(attempts=4, backoff=Exponential("10s", cap="1h"))
    async def flaky(ctx: Context) -> str:
        moments.append((ctx.attempt, jobs.clock.now() - NOON))
        if ctx.attempt == 3:
            raise Retry(after="1d")
        if not ctx.final:
            raise ConnectionError("not yet")
        return "done"

    job = flaky.enqueue()
    assert jobs.run() == Summary(completed=1, retries=3)
    assert job.result() == "done"
    assert [attempt for attempt, _ in moments] == [1, 2, 3, 4]
    waits = [(after - before).total_seconds() for (_, before), (_, after) in pairwise(moments)]
    assert waits == [pytest.approx(10, rel=0.11), pytest.approx(20, rel=0.11), pytest.approx(86400)]


def test_delayed_jobs_run_in_order_each_at_its_moment(app: App, jobs: Sandbox) -> None:
    seen: list[tuple[str, datetime]] = []

    @app.job
    async def remind(name: str) -> None:
        seen.append((name, jobs.clock.now()))

    remind.using(delay="30d").enqueue("late")
    remind.using(at=NOON + timedelta(hours=1)).enqueue("soon")
    remind.enqueue("now")
    assert jobs.run() == Summary(completed=3)
    read = sorted((app.get(job.id).read() for job in jobs.enqueued), key=lambda job: job.due_at)
    assert [(job.started_at, job.finished_at) for job in read] == [(moment, moment) for _, moment in seen]
    assert seen == [("now", NOON), ("soon", NOON + timedelta(hours=1)), ("late", NOON + timedelta(days=30))]
    assert jobs.clock.now() == NOON + timedelta(days=30)


def test_within_bounds_how_far_time_moves(app: App, jobs: Sandbox) -> None:
    @app.job
    async def remind() -> None: ...

    for delay in (0, "1m", "1h"):
        remind.using(delay=delay).enqueue()
    assert jobs.run(within=0) == Summary(completed=1, waiting=2)
    assert jobs.clock.now() == NOON
    assert jobs.run(within="59m") == Summary(completed=1, waiting=1)
    jobs.clock.advance("1h")
    assert jobs.run(within=0) == Summary(completed=1)


def test_a_dead_job_fails_the_run_with_the_handlers_own_traceback(app: App, jobs: Sandbox) -> None:
    @app.job(attempts=2)
    def divide(number: int) -> float:
        return 1 / number

    @app.job
    async def refuse() -> None:
        raise DoNotRetry("never")

    good = divide.enqueue(2)
    divide.enqueue(0)
    refuse.enqueue()
    with pytest.raises(JobFailed, match=r"\(divide\) is dead after attempt 2: .*ZeroDivisionError: ") as failed:
        jobs.run()
    assert good.result() == 0.5, "the others have run"
    notes = "\n".join(failed.value.__notes__)
    assert "return 1 / number" in notes
    assert "(refuse) is dead after attempt 1: the handler said: do not retry;" in notes


def test_without_strict_the_summary_tells(app: App, jobs: Sandbox) -> None:
    @app.job(attempts=3, backoff=Fixed("1m"))
    async def fail() -> None:
        raise ValueError("always")

    job = fail.enqueue()
    assert jobs.run(strict=False) == Summary(dead=1, retries=2)
    with pytest.raises(JobFailed, match="always"):
        job.result()
    assert jobs.run() == Summary(), "what died before is not blamed on the next run"


def test_jobs_that_leave_nothing_behind_are_counted_too(app: App, jobs: Sandbox) -> None:
    @app.job(attempts=1, remove_on_complete=True, remove_on_fail=True)
    async def work(fail: bool) -> None:
        if fail:
            raise ValueError("gone without a trace")

    work.enqueue(fail=False)
    assert jobs.run() == Summary(completed=1)
    work.enqueue(fail=True)
    with pytest.raises(JobFailed, match="gone without a trace"):
        jobs.run()


@pytest.mark.parametrize("delay", [0, "1h"])
def test_a_job_that_goes_on_for_ever_ends_with_a_clear_error(app: App, jobs: Sandbox, delay: object) -> None:
    @app.job
    async def tick(ctx: Context) -> None:
        ctx.enqueue(tick.using(delay=delay).bind())  # type: ignore[arg-type]

    tick.enqueue()
    with pytest.raises(EndlessRun, match=r"began 50 attempts .*: tick \(51\)\..*run\(within='1h'\)"):
        jobs.run(limit=50)


def test_the_limit_itself_is_allowed(app: App, jobs: Sandbox) -> None:
    @app.job
    async def tick() -> None: ...

    app.enqueue_many(tick.bind() for _ in range(10))
    assert jobs.run(limit=10).completed == 10


def test_a_snoozed_job_is_run_again_when_its_moment_has_come(app: App, jobs: Sandbox) -> None:
    seen: list[datetime] = []

    @app.job(attempts=1, snoozes=2)
    async def poll(ctx: Context, times: int) -> int:
        seen.append(ctx.due_at)
        if ctx.snoozes < times:
            raise Snooze("10m")
        return ctx.snoozes

    job = poll.enqueue(2)
    assert jobs.run() == Summary(completed=1, snoozes=2)
    assert job.result() == 2
    assert [(after - before).total_seconds() // 60 for before, after in pairwise(seen)] == [10, 10]
    poll.enqueue(3)
    with pytest.raises(JobFailed, match="all 2 snoozes used"):
        jobs.run()


def test_a_job_that_waited_too_long_expires(app: App, jobs: Sandbox) -> None:
    @app.job(ttl="1m")
    async def call_back() -> None: ...

    in_time, too_late = call_back.using(delay="2m").enqueue(), call_back.enqueue()
    jobs.clock.advance("90s")
    assert jobs.run() == Summary(completed=1, expired=1)
    assert in_time.state() == "completed"
    with pytest.raises(JobExpired):
        too_late.result()


def test_a_unique_key_is_free_again_after_its_period(app: App, jobs: Sandbox) -> None:
    @app.job
    async def greet() -> None: ...

    welcome = greet.using(unique=Unique("welcome:7", per="1h"))
    assert welcome.enqueue().created
    jobs.run()
    jobs.clock.advance("59m")
    assert not welcome.enqueue().created
    jobs.clock.advance("2m")
    assert welcome.enqueue().created


def test_cancelled_jobs(app: App, jobs: Sandbox) -> None:
    began: list[str] = []

    @app.job(attempts=1)
    async def wait(ctx: Context, name: str) -> None:
        began.append(name)
        await (await app.aget(ctx.id)).acancel()
        await asyncio.Event().wait()

    wait.enqueue("before").cancel()
    running = wait.enqueue("running")
    assert jobs.run() == Summary(cancelled=1)
    assert began == ["running"]
    assert running.state() == "cancelled"


def test_timeouts_are_real_time(app: App, jobs: Sandbox) -> None:
    released = threading.Event()

    @app.job(attempts=2, timeout="50ms")
    async def hang() -> None:
        await asyncio.Event().wait()

    @app.job(attempts=1, timeout="50ms")
    def hang_in_a_thread() -> None:
        released.wait()

    hang.enqueue()
    hang_in_a_thread.enqueue()
    try:
        assert jobs.run(strict=False) == Summary(dead=2, retries=1)
        errors = [app.get(job.id).read().error for job in jobs.enqueued]
        assert [error.type for error in errors if error is not None] == ["TimeoutError", "TimeoutError"]
    finally:
        released.set()


def test_one_at_a_time_in_the_order_of_claims(app: App, jobs: Sandbox) -> None:
    seen: list[int] = []

    @app.job
    def plain(number: int) -> None:
        seen.append(number)

    for number in range(30):
        plain.using(priority=number % 3).enqueue(number)
    jobs.run()
    assert seen == sorted(range(30), key=lambda number: (-(number % 3), number))


def test_concurrency_lets_handlers_meet(app: App, jobs: Sandbox) -> None:
    both = threading.Barrier(2, timeout=10)

    @app.job
    def meet() -> None:
        both.wait()

    meet.enqueue()
    meet.enqueue()
    assert jobs.run(concurrency=2).completed == 2


def test_a_handler_that_waits_for_another_job_is_refused_as_in_a_worker(app: App, jobs: Sandbox) -> None:
    @app.job
    async def child() -> int:
        return 1

    @app.job(attempts=1)
    async def parent() -> int:
        return await (await child.aenqueue()).aresult()

    parent.enqueue()
    with pytest.raises(JobFailed, match=r"a handler cannot wait for it"):
        jobs.run(concurrency=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"within": "soon"}, "within='soon' is not a duration"), ({"concurrency": 0}, "concurrency=0 is not possible")],
)
def test_wrong_arguments(app: App, jobs: Sandbox, arguments: dict[str, Any], message: str) -> None:
    @app.job
    async def work() -> None: ...

    work.enqueue()
    with pytest.raises(ConfigError) as refused:
        jobs.run(**arguments)
    assert message in str(refused.value)


def test_every_capability_is_offered(app: App, jobs: Sandbox) -> None:
    @app.job(capability="media")
    async def transcode() -> None: ...

    transcode.enqueue()
    transcode.using(capability="gpu").enqueue()
    assert jobs.run().completed == 2


def test_a_job_without_a_handler_waits(app: App, jobs: Sandbox) -> None:
    @app.job
    async def known() -> None: ...

    known.enqueue()
    app.enqueue("elsewhere", {})
    assert jobs.run() == Summary(completed=1, waiting=1)


def test_the_lifespan_is_entered(tmp_path: Path) -> None:
    steps: list[str] = []

    @asynccontextmanager
    async def lifespan() -> AsyncIterator[list[str]]:
        steps.append("open")
        yield steps
        steps.append("close")

    app = App(f"sqlite:///{tmp_path}/jobs.db", lifespan=lifespan)

    @app.job
    async def work(ctx: Context) -> None:
        ctx.resources.append("work")

    with sandbox(app) as jobs:
        work.enqueue()
        jobs.run()
    assert steps == ["open", "work", "close"]


def test_async_code_uses_arun_on_its_own_loop(app: App, jobs: Sandbox) -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()

        @app.job
        async def work() -> bool:
            return asyncio.get_running_loop() is loop

        job = await work.using(delay="1h").aenqueue()
        jobs.assert_enqueued(work, delay="1h")
        with pytest.raises(UsageError, match=r"await arun\(\)"):
            jobs.run()
        assert (await jobs.arun()).completed == 1
        assert await job.aresult() is True

    asyncio.run(test())


def test_a_clock_that_was_set_back(app: App, jobs: Sandbox) -> None:
    @app.job
    async def remind() -> None: ...

    remind.enqueue()
    jobs.run()
    jobs.clock.set(NOON - timedelta(days=1000))
    remind.using(delay="1h").enqueue()
    assert jobs.run() == Summary(completed=1)
    assert jobs.clock.now() == NOON - timedelta(days=1000) + timedelta(hours=1)


def test_an_app_worker_runs_in_the_sandbox_too(app: App, jobs: Sandbox) -> None:
    @app.job
    async def work(ctx: Context) -> None:
        if ctx.attempt == 1:
            raise Retry(after="1h")

    job = work.enqueue()
    asyncio.run(app.run_worker(burst=True))
    assert job.state() == "scheduled"
    assert jobs.run() == Summary(completed=1)


def test_what_does_not_wait_for_a_worker_waits_for_the_run(app: App, jobs: Sandbox) -> None:
    @app.job(no_worker="fail")
    async def hasty() -> int:
        return 7

    @app.job
    async def first(ctx: Context) -> None:
        ctx.enqueue(hasty.bind())

    job = hasty.enqueue()
    flow = app.workflow("flow")
    flow.step(hasty.bind())
    flow.enqueue()
    first.using(delay="1h").enqueue()
    assert jobs.run() == Summary(completed=4)
    assert job.result(timeout=0) == 7
