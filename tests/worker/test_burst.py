"""Burst mode runs all that is due and stops; and workers that cannot work say so before they begin."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from penstock import App, ConfigError, Context, Fixed, Retention, State, StoreGone
from penstock.store.contract import STALE_HEARTBEATS, ClaimJobs, LeadStore, ListDead, ListJobs, RegisterWorker
from tests.worker.running import burst

EXPIRED = ListJobs(states=frozenset({State.EXPIRED}))


def test_burst_runs_what_is_due_with_its_retries_and_leaves_the_rest(app: App) -> None:
    @app.job(attempts=4, backoff=Fixed(0))
    async def fails_thrice(ctx: Context) -> int:
        if ctx.attempt < 4:
            raise ValueError("again")
        return ctx.attempt

    @app.job(attempts=2, backoff=Fixed("1h"))
    async def fails_for_long() -> None:
        raise ValueError("later")

    due = [fails_thrice.enqueue() for _ in range(30)]
    later, backing_off = fails_thrice.using(delay="1h").enqueue(), fails_for_long.enqueue()
    burst(app, concurrency=3)
    assert [job.result(timeout=0) for job in due] == [4] * 30
    assert (later.state(), backing_off.state()) == (State.SCHEDULED, State.SCHEDULED)
    assert [worker.status for worker in app.store.list_workers().wait()] == ["inactive"]


@pytest.mark.parametrize("round_number", range(20))
def test_burst_never_misses_a_retry_that_is_due_at_once(app: App, round_number: int) -> None:
    """The last failure may fall together with the last look for work; it must be looked for again."""

    @app.job(attempts=6, backoff=Fixed(0))
    async def fails(ctx: Context) -> None:
        raise ValueError("again")

    job = fails.enqueue()
    burst(app)
    assert (job.read().state, job.read().attempt) == (State.DEAD, 6)


def test_burst_runs_jobs_that_jobs_enqueue(app: App) -> None:
    @app.job
    async def grows(depth: int) -> None:
        if depth:
            await grows.aenqueue(depth - 1)
            await grows.aenqueue(depth - 1)

    grows.enqueue(4)
    burst(app)
    states = {(count.state, count.jobs) for count in app.store.count_jobs().wait()}
    assert states == {(State.COMPLETED, 31)}


def test_burst_on_an_empty_store_returns(app: App) -> None:
    @app.job
    async def work() -> None: ...

    burst(app)


def test_a_worker_without_jobs_is_refused(app: App) -> None:
    with pytest.raises(ConfigError, match=r"declares no jobs.*@app\.job"):
        burst(app)


def test_a_worker_for_an_unknown_type_is_refused(app: App) -> None:
    @app.job
    async def known() -> None: ...

    with pytest.raises(ConfigError, match="no handler is declared for: unknown; declared are: known"):
        burst(app, types=["known", "unknown"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"concurrency": 0}, "concurrency=0 is not possible: a whole number from 1"),
        ({"concurrency": "many"}, "concurrency='many'"),
        ({"poll_interval": 0}, "poll_interval=0 is not possible: more than zero"),
        ({"heartbeat_interval": "often"}, "heartbeat_interval='often' is not a duration"),
        ({"types": []}, "types is empty"),
        ({"worker_id": "two words"}, "worker_id='two words' is not a usable name"),
    ],
)
def test_settings_that_cannot_be_are_refused(app: App, settings: dict[str, object], message: str) -> None:
    @app.job
    async def work() -> None: ...

    with pytest.raises(ConfigError, match=message):
        burst(app, **settings)


def test_a_setting_that_does_not_exist_is_refused(app: App) -> None:
    @app.job
    async def work() -> None: ...

    with pytest.raises(ConfigError, match=r"concurency.*concurrency"):
        burst(app, concurency=3)


@pytest.mark.parametrize("round_number", range(5))
def test_in_burst_mode_a_line_runs_what_another_line_enqueues(app: App, round_number: int) -> None:
    """No line ends before all have: a job that arrives late, from a job of another line, is still run."""

    @app.batch_job(size=10, wait=0)
    async def doubled(items: list[int]) -> list[int]:
        return [2 * item for item in items]

    @app.job(timeout="20s", attempts=1)
    async def asks(number: int) -> str:
        await asyncio.sleep(0)
        return (await doubled.aenqueue(number)).id

    first, chained = doubled.enqueue(1), asks.enqueue(21)
    burst(app)
    assert (first.result(timeout=0), app.get(chained.result(timeout=0)).result(timeout=0)) == (2, 42)


def test_a_worker_whose_store_is_gone_says_so_whatever_the_number_of_lines(app: App, tmp_path: Path) -> None:
    @app.batch_job(size=2, wait=0)
    async def many(items: list[int]) -> list[int]:
        return items

    @app.job
    def removes_the_store() -> None:
        for file in tmp_path.glob("jobs.db*"):
            file.unlink()

    removes_the_store.enqueue()
    with pytest.raises(StoreGone):
        burst(app)


# The duties of a leader, by a worker that is there for a moment


def test_burst_ends_what_waited_for_too_long_and_what_it_sets_free_runs_in_the_same_run(app: App) -> None:
    @app.job
    async def work() -> None: ...

    flow = app.workflow("flow", on_failure="continue")
    first = flow.step(work.using(ttl=0.01, capability="none").bind(), name="strange")
    flow.step(work.bind(), after=first, name="next")
    handle = flow.enqueue()
    while not app.store.list_jobs(EXPIRED).wait():
        time.sleep(0.005)
    burst(app)
    assert handle.read().steps[1].jobs == {State.COMPLETED: 1}
    assert app.store.list_dead(ListDead()).wait().total == 1


def test_burst_removes_what_retention_no_longer_keeps(app: App) -> None:
    @app.job
    async def work() -> None: ...

    job = work.enqueue()
    burst(app)
    assert job.state() is State.COMPLETED
    burst(app, retention=Retention(completed=1e-6))
    assert app.store.read_job(job.id).wait() is None


def test_burst_leaves_the_duties_to_whoever_leads(app: App) -> None:
    @app.job
    async def work() -> None: ...

    other = (
        app.store.register_worker(
            RegisterWorker(worker_id="other", host="h", pid=1, version="1", slots=1, stale_after=600.0)
        )
        .wait()
        .session
    )
    assert app.store.lead_store(LeadStore(other, 600.0)).wait().acting
    job = work.enqueue()
    burst(app)
    burst(app, retention=Retention(completed=1e-6))
    assert job.state() is State.COMPLETED


def test_burst_judges_a_worker_that_was_lost_after_one_heartbeat_of_its_own(app: App) -> None:
    @app.job(attempts=2, backoff=Fixed(0))
    async def work(ctx: Context) -> int:
        return ctx.attempt

    lost = (
        app.store.register_worker(
            RegisterWorker(worker_id="lost", host="h", pid=1, version="1", slots=1, stale_after=0.001)
        )
        .wait()
        .session
    )
    job = work.enqueue()
    assert app.store.claim_jobs(ClaimJobs(lost, 1)).wait().jobs
    while app.store.list_workers().wait()[0].silent <= STALE_HEARTBEATS * 0.1:
        time.sleep(0.005)
    began = time.monotonic()
    burst(app, heartbeat_interval=0.1)
    assert time.monotonic() - began >= 0.1
    assert job.result(timeout=0) == 2
