"""Resources are counted while jobs run, and a type may be limited in a worker (R1, L3)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from penstock import App, ConfigError, Context, Fixed, Resources, State
from penstock.domain.job import Event
from penstock.store.contract import FinishJobs, Unfinished
from penstock.worker.claiming.budget import limits_of
from penstock.worker.settings import make_settings
from penstock.worker.slots import slot_groups
from tests.worker import process_jobs
from tests.worker.running import beside_worker, burst, until, until_state

HAS = Resources(cpu=4, memory="8Gi")


class Gate:
    """Counts who is inside, and lets them out when the test says so."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.inside = self.most = 0

    async def pass_through(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
        finally:
            self.inside -= 1


def test_a_job_waits_until_what_it_needs_is_free_and_others_do_not(app: App) -> None:
    gate = Gate()

    @app.job(resources=Resources(cpu=3))
    async def big() -> None:
        await gate.pass_through()

    @app.job(resources=Resources(cpu=2))
    async def waits() -> None: ...

    @app.job
    async def needs_nothing() -> None: ...

    async def story() -> None:
        first = await big.aenqueue()
        await until(lambda: gate.inside == 1, "it runs")
        second = await waits.aenqueue()
        for _ in range(3):
            await (await needs_nothing.aenqueue()).aresult(timeout=20)
        assert await second.astate() is State.PENDING
        gate.open.set()
        await first.aresult(timeout=20)
        await second.aresult(timeout=20)

    beside_worker(app, story, resources=HAS)


def test_no_more_than_it_has_is_in_use_at_any_time(app: App) -> None:
    running, most = 0, 0

    @app.job(resources=Resources(cpu=1.25))
    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    jobs = app.enqueue_many(work.bind() for _ in range(40))
    burst(app, resources=HAS)
    assert {job.state() for job in jobs} == {State.COMPLETED}
    assert most == 3


def test_needs_of_one_enqueue_count_too(app: App) -> None:
    gate = Gate()

    @app.job
    async def work() -> None:
        await gate.pass_through()

    async def story() -> None:
        jobs = [await work.using(resources=Resources(memory="5Gi")).aenqueue() for _ in range(2)]
        plain = [await work.aenqueue() for _ in range(3)]
        await until(lambda: gate.inside == 4, "one of those with needs, and all others")
        assert await jobs[1].astate() is State.PENDING
        gate.open.set()
        for job in [*jobs, *plain]:
            await job.aresult(timeout=20)

    beside_worker(app, story, resources=HAS)


def test_all_lines_of_a_worker_share_what_it_has(app: App) -> None:
    gate = Gate()

    @app.job(resources=Resources(cpu=3))
    async def alone() -> None:
        await gate.pass_through()

    @app.batch_job(size=2, wait=0, resources=Resources(cpu=1.5))
    async def together(items: list[int]) -> list[int]:
        return items

    async def story() -> None:
        await alone.aenqueue()
        await until(lambda: gate.inside == 1, "it runs")
        batch = [await together.aenqueue(n) for n in range(2)]
        other = await alone.aenqueue()
        await until_state(other, State.PENDING)
        gate.open.set()
        for job in batch:
            await job.aresult(timeout=20)

    beside_worker(app, story, resources=HAS)
    assert gate.most == 1


# Every kind of end frees


async def raises() -> None:
    raise ValueError("broken")


async def too_slow() -> None:
    await asyncio.Event().wait()


def ends_in_a_thread() -> None: ...


ENDS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "failed": (raises, {"attempts": 1}),
    "to be retried": (raises, {"backoff": Fixed("1h")}),
    "timed out": (too_slow, {"timeout": "50ms", "attempts": 1}),
    "completed in a thread": (ends_in_a_thread, {}),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_a_job_held_is_free_after_its_end(app: App, end: str) -> None:
    function, options = ENDS[end]
    first = app.job(name="first", resources=Resources(cpu=4), **options)(function)

    @app.job(resources=Resources(cpu=4))
    async def second() -> str:
        return "ran"

    first.enqueue()
    job = second.enqueue()
    burst(app, resources=HAS)
    assert job.result(timeout=0) == "ran"


def test_a_cancelled_job_holds_nothing(app: App) -> None:
    @app.job(resources=Resources(cpu=4))
    async def endless() -> None:
        await asyncio.Event().wait()

    async def story() -> None:
        first, second = await endless.aenqueue(), await endless.aenqueue()
        await until_state(first, State.RUNNING)
        await first.acancel()
        await until_state(second, State.RUNNING)
        await second.acancel()

    beside_worker(app, story, resources=HAS)


def test_a_payload_that_does_not_decode_holds_nothing(app: App, other_app: App) -> None:
    @app.job(resources=Resources(cpu=4))
    async def work(number: int) -> int:
        return number

    broken = other_app.enqueue("work", {"number": "no number"}, resources=Resources(cpu=4))
    job = work.enqueue(7)
    burst(app, resources=HAS)
    assert (broken.state(), job.result(timeout=0)) == (State.DEAD, 7)


def test_a_child_process_that_crashes_holds_nothing(process_app: App) -> None:
    crash = process_jobs.exit_hard.using(resources=Resources(cpu=4)).enqueue(3)
    job = process_jobs.echo.using(resources=Resources(cpu=4)).enqueue("ran")
    burst(process_app, resources=HAS, process_slots=2)
    assert (crash.state(), job.result(timeout=0)) == (State.DEAD, "ran")


def test_a_thread_that_was_given_up_counts_until_it_ends(app: App) -> None:
    stuck = threading.Event()

    @app.job(resources=Resources(cpu=4), timeout="50ms", attempts=1)
    def deaf() -> None:
        stuck.wait(60)

    @app.job(resources=Resources(cpu=4))
    async def waits() -> None: ...

    @app.job
    async def needs_nothing() -> None: ...

    async def story() -> None:
        first = await deaf.aenqueue()
        await until_state(first, State.DEAD)
        second = await waits.aenqueue()
        await (await needs_nothing.aenqueue()).aresult(timeout=20)
        assert await second.astate() is State.PENDING, "its thread still uses the cores"
        stuck.set()
        await second.aresult(timeout=20)

    beside_worker(app, story, resources=HAS)


def test_an_attempt_that_lost_its_lease_holds_nothing(app: App) -> None:
    tokens: list[int] = []

    @app.job(resources=Resources(cpu=4))
    async def work(ctx: Context) -> None:
        tokens.append(ctx.token)
        await asyncio.Event().wait()

    async def story() -> None:
        await work.aenqueue()
        await until(lambda: tokens, "it runs")
        second = await work.aenqueue()
        await app.store.finish_jobs(FinishJobs(unfinished=[Unfinished(token=tokens[0], event=Event.FAIL)]))
        await until_state(second, State.RUNNING)
        await second.acancel()

    beside_worker(app, story, resources=HAS)


# A type that is limited in a worker


def test_at_most_so_many_of_a_type_at_once_and_the_others_go_on(app: App) -> None:
    gate = Gate()

    @app.job(worker_concurrency=2)
    async def limited() -> None:
        await gate.pass_through()

    @app.job
    async def other() -> None: ...

    async def story() -> None:
        jobs = [await limited.aenqueue() for _ in range(6)]
        await until(lambda: gate.inside == 2, "two run")
        for _ in range(3):
            await (await other.aenqueue()).aresult(timeout=20)
        assert gate.inside == 2
        gate.open.set()
        for job in jobs:
            await job.aresult(timeout=20)

    beside_worker(app, story, concurrency=10)
    assert gate.most == 2


def test_the_names_of_one_type_count_together(app: App, other_app: App) -> None:
    running, most = 0, 0

    @app.job(name="new", aliases=["old"], worker_concurrency=1)
    async def work() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1

    jobs = [one for _ in range(5) for one in (work.enqueue(), other_app.enqueue("old", {}))]
    burst(app)
    assert {job.state() for job in jobs} == {State.COMPLETED}
    assert most == 1


def test_the_slots_of_the_worker_bound_them_all(app: App) -> None:
    gate = Gate()

    @app.job(worker_concurrency=3)
    async def limited() -> None:
        await gate.pass_through()

    @app.job
    async def other() -> None:
        await gate.pass_through()

    async def story() -> None:
        jobs = [await job.aenqueue() for _ in range(6) for job in (limited, other)]
        await until(lambda: gate.inside == 4, "as many as there are slots")
        gate.open.set()
        for job in jobs:
            await job.aresult(timeout=20)

    beside_worker(app, story, concurrency=4)
    assert gate.most == 4


def test_of_a_batch_type_calls_are_limited(app: App) -> None:
    @app.batch_job(size=10, wait="1s", worker_concurrency=2)
    async def embed(items: list[int]) -> list[int]:
        return items

    (line,) = slot_groups(app.registry, make_settings(concurrency=100), ("embed",))
    assert (line.calls, line.slots) == (2, 20)
    assert limits_of(app.registry, ["embed"]) == []


def test_it_is_an_option_of_the_type_alone(app: App) -> None:
    @app.job(worker_concurrency=1)
    async def work() -> None: ...

    with pytest.raises(ConfigError, match=r"worker_concurrency= is an option of the job's type"):
        work.using(worker_concurrency=2)  # type: ignore[call-arg]
